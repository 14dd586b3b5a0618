#include "tessera/infer/forward.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/language_model.h"
#include "tessera/tensor/device.h"

namespace tessera {
namespace {

/// A [B, T] of whole numbers as int64.
at::Tensor token_tensor(const TensorFile& input, const std::string& name,
                        const std::vector<int64_t>& sizes, int64_t lowest, int64_t vocabulary) {
  const at::Tensor& tensor = input.at(name, sizes);
  if (!at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false))
    throw DataError(input.path, "tensor '{}' has type {}, expected whole numbers (I64)", name,
                    toString(tensor.scalar_type()));
  const at::Tensor tokens = tensor.to(at::kLong);
  const at::Tensor wrong = tokens.lt(lowest).logical_or(tokens.ge(vocabulary));
  if (wrong.any().item<bool>())
    throw DataError(input.path, "tensor '{}' holds {}, expected {} to {} (the model's vocabulary)",
                    name, tokens.masked_select(wrong)[0].item<int64_t>(), lowest, vocabulary - 1);
  return tokens;
}

NamedTensors gradients_of(SequenceModel& model, const at::Tensor& loss) {
  std::vector<at::Tensor> parameters;
  const auto named = model.named_parameters();
  for (const auto& item : named) parameters.push_back(item.value());
  const auto gradients = torch::autograd::grad({loss}, parameters, {}, false, false,
                                               /*allow_unused=*/true);
  NamedTensors result;
  for (size_t i = 0; i < gradients.size(); ++i)
    result.emplace_back(named[i].key(),
                        gradients[i].defined() ? gradients[i] : at::zeros_like(parameters[i]));
  return result;
}

/// Whether it is the file of a task, whose targets have another loss than forward has.
bool is_task(const TensorFile& input) {
  return input.tensors.contains("answers");
}

bool has_targets(const TensorFile& input) {
  return input.tensors.contains("targets") && !is_task(input);
}

void check_for_gradients(const TensorFile& input) {
  if (is_task(input))
    throw DataError(input.path,
                    "holds samples of a task ('answers'), whose loss is not computed here; "
                    "gradients need targets without 'answers'");
  if (!has_targets(input))
    throw DataError(input.path, "has no tensor 'targets', which gradients need");
}

struct Outputs {
  NamedTensors tensors;
  at::Tensor loss;  ///< undefined without targets
};

/// idx [B, T], targets [B, T] -> logits [B, T, V].
Outputs outputs_of_tokens(LanguageModel& model, const TensorFile& input, bool gradients) {
  const at::Tensor tokens = token_tensor(input, "idx", {-1, -1}, 0, model.vocabulary());
  if (tokens.numel() == 0)
    throw DataError(input.path, "tensor 'idx' is empty, expected at least one token");
  if (!model.reads_past_window() && tokens.size(1) > model.window())
    throw DataError(input.path, "tensor 'idx' holds sequences of {} tokens, the model reads {}",
                    tokens.size(1), model.window());
  Outputs result;
  {
    at::NoGradGuard no_grad;
    result.tensors = {{"logits", model.logits(model.hidden(tokens))}};
  }
  if (!has_targets(input)) return result;
  const at::Tensor targets =
      token_tensor(input, "targets", tokens.sizes().vec(), -1, model.vocabulary());
  at::AutoGradMode grad_mode(gradients);
  result.loss = model.loss(tokens, targets);
  return result;
}

/// x or inputs [T, B, in], or tokens [T, B]; targets [T, B, out] -> y [T, B, out] and the tensors
/// of the last state.
Outputs outputs_of_vectors(SequenceModel& model, const TensorFile& input, bool gradients) {
  const std::string name = input.tensors.contains("inputs") ? "inputs" : "x";
  const bool tokens = model.kind() == "embedded";
  const at::Tensor x =
      (tokens ? input.at(name, {-1, -1}, at::kLong) : input.at(name, {-1, -1, -1}, at::kFloat))
          .transpose(0, 1);  // [B, T, in] or [B, T]
  if (x.numel() == 0)
    throw DataError(input.path, "tensor '{}' is empty, expected at least one step of one sequence",
                    name);
  const SequenceOutput read = [&] {
    try {
      return model.read(x, model.empty_state());
    } catch (const UsageError& error) {  // only the model knows how wide its inputs are
      throw DataError(input.path, "tensor '{}' does not fit the model: {}", name, error.what());
    }
  }();
  Outputs result;
  result.tensors = {{"y", read.outputs.transpose(0, 1)}};
  for (const auto& part : read.state.tensors()) result.tensors.push_back(part);
  if (!has_targets(input)) return result;
  const at::Tensor targets =
      input.at("targets", {x.size(1), x.size(0), read.outputs.size(2)}, at::kFloat);
  at::AutoGradMode grad_mode(gradients);
  const at::Tensor outputs = gradients ? model.forward(x) : read.outputs;
  result.loss = at::mse_loss(outputs, targets.transpose(0, 1).to(outputs.device()));
  return result;
}

/// Throws DataError on a tensor that is neither read nor, as in the file of another
/// implementation, an output to compare with.
void check_names(const TensorFile& input, const NamedTensors& outputs, bool of_tokens) {
  const std::vector<std::string> read =
      of_tokens ? std::vector<std::string>{"idx", "targets"}
                : std::vector<std::string>{"x", "inputs", "targets", "answers"};
  for (const auto& [name, tensor] : input.tensors) {
    const auto has_name = [&name = name](const auto& output) { return output.first == name; };
    if (name == "loss" || name.starts_with("grad.") || std::ranges::any_of(outputs, has_name) ||
        std::ranges::find(read, name) != read.end())
      continue;
    throw DataError(input.path, "tensor '{}' is unknown{}; this model reads {}", name,
                    suggestion(name, read), fmt::join(read, ", "));
  }
}

}  // namespace

NamedTensors run_forward(SequenceModel& model, const TensorFile& input, bool gradients,
                         const std::optional<ForeignFormat>& source) {
  if (gradients) check_for_gradients(input);
  auto* language_model = dynamic_cast<LanguageModel*>(&model);
  auto [result, loss] = language_model ? outputs_of_tokens(*language_model, input, gradients)
                                       : outputs_of_vectors(model, input, gradients);
  check_names(input, result, language_model != nullptr);
  if (!loss.defined()) return result;
  result.emplace_back("loss", loss.detach().view({1}));
  if (!gradients) return result;
  const NamedTensors own = gradients_of(model, loss);
  for (const auto& [name, gradient] : source ? to_foreign(*source, own) : own)
    result.emplace_back("grad." + name, gradient);
  return result;
}

void run_forward(const std::filesystem::path& model_folder, const std::filesystem::path& input,
                 const std::filesystem::path& output, const ForwardOptions& options) {
  const auto source = options.names == ParameterNames::kSource ? source_of_model(model_folder)
                                                               : std::optional<ForeignFormat>();
  if (options.names == ParameterNames::kSource && !source)
    throw UsageError("--names source: {} was not imported, so it has names of its own only",
                     model_folder.native());
  const at::Device device = named_device(options.device);
  const auto model = load_sequence_model(model_folder);
  model->to(device);
  save_tensors(output, run_forward(*model, TensorFile::load(input), options.gradients, source));
}

}  // namespace tessera
