#include "tessera/train/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/safetensors.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {
namespace {

constexpr std::string_view kPrefix = "step-", kSuffix = ".safetensors";

/// The N of "step-N.safetensors", or -1.
int64_t step_of(const std::filesystem::path& path) {
  const std::string name = path.filename().native();
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return -1;
  const std::string digits =
      name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  if (digits.size() < 8 || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return -1;
  return std::stoll(digits);
}

/// Throws DataError unless a state is one of the file's step, with numbers that a training has.
TrainingState parse_state(const std::map<std::string, std::string>& metadata,
                          const std::string& path) {
  const auto found = metadata.find("training");
  if (found == metadata.end())
    throw DataError(path, "is not a training checkpoint: its metadata has no entry 'training'");
  const auto json = config::parse_json(found->second, path + ": metadata 'training'");
  TrainingState state;
  try {
    config::from_json(json, state, "metadata training");
  } catch (const UsageError& error) {
    throw DataError(path, "{}", error.what());
  }
  if (state.step != step_of(path))
    throw DataError(path, "metadata training.step is {}, expected that of the file's name",
                    state.step);
  return state;
}

NamedTensors parameters_and_buffers(const torch::nn::Module& module) {
  NamedTensors tensors;
  for (const auto& item : module.named_parameters()) tensors.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) tensors.emplace_back(item.key(), item.value());
  return tensors;
}

/// Copies what the file holds into the targets of these names, after all of them were checked.
void copy_into(const NamedTensors& targets, const TensorFile& file) {
  for (const auto& [name, target] : targets)
    file.at(name, target.sizes().vec(), target.scalar_type());
  at::NoGradGuard no_grad;
  for (const auto& [name, target] : targets) target.copy_(file.tensors.at(name));
}

/// Throws DataError where the file has a tensor that is not among `known`.
void refuse_unknown(const TensorFile& file, const NamedTensors& known, bool with_optimizer) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : known) names.insert(name);
  for (const auto& [name, tensor] : file.tensors)
    if (!names.contains(name) && (with_optimizer || !is_optimizer_state(name)))
      throw DataError(file.path,
                      "has the tensor '{}' of shape [{}], which this model does not have", name,
                      fmt::join(tensor.sizes().vec(), ", "));
}

}  // namespace

NamedTensors trainable_parameters(const torch::nn::Module& module) {
  NamedTensors tensors;
  for (const auto& item : module.named_parameters())
    if (item.value().requires_grad()) tensors.emplace_back(item.key(), item.value());
  return tensors;
}

Checkpoint Checkpoint::load(const std::filesystem::path& path) {
  TensorFile file = TensorFile::load(path);
  TrainingState state = parse_state(file.metadata, file.path);
  check_checksum(file, file.metadata.at("training"));
  return {std::move(state), std::move(file)};
}

void Checkpoint::restore(torch::nn::Module& module, Optimizer& optimizer) const {
  NamedTensors targets = parameters_and_buffers(module);
  const NamedTensors kept = optimizer.state();
  targets.insert(targets.end(), kept.begin(), kept.end());
  refuse_unknown(file, targets, /*with_optimizer=*/true);
  copy_into(targets, file);
  optimizer.set_steps(state.step);
}

void Checkpoint::restore(torch::nn::Module& module) const {
  const NamedTensors targets = parameters_and_buffers(module);
  refuse_unknown(file, targets, /*with_optimizer=*/false);
  copy_into(targets, file);
}

Checkpoints::Checkpoints(std::filesystem::path folder, int64_t keep)
    : folder_(std::move(folder)), keep_(keep) {
  check_argument(keep >= 1, "Checkpoints: keep is {}, expected 1 or more", keep);
}

std::filesystem::path Checkpoints::save(const torch::nn::Module& module, const Optimizer& optimizer,
                                        const TrainingState& state) {
  NamedTensors tensors = parameters_and_buffers(module);
  const NamedTensors kept = optimizer.state();
  tensors.insert(tensors.end(), kept.begin(), kept.end());
  const std::string text = config::to_json(state).dump();
  const auto path = folder_ / fmt::format("{}{:08}{}", kPrefix, state.step, kSuffix);
  save_with_checksum(path, std::move(tensors), {{"training", text}}, text);
  remove_old();
  return path;
}

namespace {

void set_aside(const std::filesystem::path& damaged) {
  std::error_code failure;
  std::filesystem::rename(damaged, damaged.native() + ".damaged", failure);
  if (failure) throw SystemError(damaged.native(), "rename", failure.value());
}

}  // namespace

std::optional<Checkpoint> Checkpoints::latest(const std::function<void(const std::string&)>& warn) {
  auto candidates = paths();
  if (candidates.empty()) return std::nullopt;
  std::reverse(candidates.begin(), candidates.end());
  std::vector<std::filesystem::path> damaged;
  for (const auto& path : candidates) {
    try {
      Checkpoint checkpoint = Checkpoint::load(path);
      for (const auto& other : damaged) set_aside(other);
      return checkpoint;
    } catch (const DataError& error) {
      warn(fmt::format("{}; the checkpoint before it is used", error.what()));
      damaged.push_back(path);
    }
  }
  throw DataError(folder_.native(), "none of its {} checkpoints can be read; start a new run",
                  candidates.size());
}

std::optional<Checkpoint> Checkpoints::best(const std::function<void(const std::string&)>& warn) {
  while (const auto path = best_path()) {
    try {
      return Checkpoint::load(*path);
    } catch (const DataError& error) {
      warn(fmt::format("{}; the best one without it is used", error.what()));
      set_aside(*path);
    }
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> Checkpoints::best_path() const {
  std::optional<std::filesystem::path> best;
  double lowest = INFINITY;
  for (const auto& path : paths()) {
    try {
      const auto file = safetensors::File::open(path);
      const auto loss = parse_state(file.metadata(), file.path()).validation_loss;
      if (!loss || *loss >= lowest) continue;
      lowest = *loss;
      best = path;
    } catch (const DataError&) {  // damaged: not the best
    }
  }
  return best;
}

int64_t Checkpoints::last_step() const {
  const auto all = paths();
  return all.empty() ? 0 : step_of(all.back());
}

std::vector<std::filesystem::path> Checkpoints::paths() const {
  std::vector<std::filesystem::path> found;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, failure))
    if (step_of(entry.path()) >= 0) found.push_back(entry.path());
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return step_of(a) < step_of(b); });
  return found;
}

void Checkpoints::remove_old() const {
  const auto all = paths();
  const auto kept = best_path();
  for (size_t i = 0; i + keep_ < all.size(); ++i) {
    std::error_code ignored;  // one that stays does no harm
    if (all[i] != kept) std::filesystem::remove(all[i], ignored);
  }
}

}  // namespace tessera
