#include "lab/learner/sequence/file_task.h"

#include <ATen/ATen.h>

#include <cerrno>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lab/learner/sequence/sample_file.h"
#include "tessera/base/error.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera::task {
namespace {

template <typename T>
std::vector<T> values_of(const at::Tensor& tensor) {
  const at::Tensor whole = tensor.contiguous();
  return {whole.data_ptr<T>(), whole.data_ptr<T>() + whole.numel()};
}

/// [T, B] of int64 or [T, B, ..] of floats.
at::Tensor steps_of(const TensorFile& file, const std::string& name, int64_t T, int64_t B) {
  const auto found = file.tensors.find(name);
  const bool symbols = found != file.tensors.end() && found->second.dim() == 2;
  return symbols ? file.at(name, {T, B}, at::kLong) : file.at(name, {T, B, -1}, at::kFloat);
}

void read_tensors(const std::filesystem::path& path, FileSamples& samples) {
  const TensorFile file = TensorFile::load(path);
  const at::Tensor& answers = file.at("answers", {-1, -1}, at::kBool);
  const int64_t T = answers.size(0), B = answers.size(1);
  const at::Tensor inputs = steps_of(file, "inputs", T, B);
  const at::Tensor targets = steps_of(file, "targets", T, B);
  const bool tokens = inputs.dim() == 2, classes = targets.dim() == 2;
  if (const auto told = file.metadata.find("shape"); told != file.metadata.end()) {
    samples.begin(shape_from(config::parse_json(told->second, file.path), file.path), true);
  } else {
    const bool bits = !classes && targets.eq(0).logical_or(targets.eq(1)).all().item().toBool();
    samples.begin({.input_width = tokens ? 0 : inputs.size(2),
                   .output_width = classes ? 0 : targets.size(2),
                   .targets = classes ? TargetKind::kClasses
                              : bits  ? TargetKind::kBits
                                      : TargetKind::kVectors,
                   .clip = classes || bits ? 0 : std::numeric_limits<double>::infinity()},
                  false);
  }
  for (int64_t b = 0; b < B; ++b) {
    samples.set_place("sequence", b);
    const auto asked = values_of<int64_t>(answers.select(1, b).nonzero().flatten());
    if (asked.empty()) samples.refuse("no step answers");
    TaskSample sample;
    sample.steps = asked.back() + 1;
    sample.first_answer = asked.front();
    sample.answers = sample.steps - sample.first_answer;
    if (!classes && sample.answers != std::ssize(asked))
      samples.refuse("the steps that answer with {} are not consecutive",
                     config::enum_name(samples.shape().targets));
    const auto seen = inputs.select(1, b).narrow(0, 0, sample.steps);
    const auto said = targets.select(1, b).narrow(0, sample.first_answer, sample.answers);
    if (tokens) sample.tokens = values_of<int64_t>(seen);
    if (!tokens) sample.inputs = values_of<float>(seen);
    if (classes) {
      const auto marks = answers.select(1, b).narrow(0, sample.first_answer, sample.answers);
      sample.classes = values_of<int64_t>(said.masked_fill(marks.logical_not(), kNotAsked));
    }
    if (!classes)
      (samples.shape().targets == TargetKind::kBits ? sample.bits : sample.vectors) =
          values_of<float>(said);
    samples.add(std::move(sample));
  }
}

}  // namespace

FileTask::FileTask(const std::filesystem::path& path, const std::optional<TaskShape>& shape) {
  FileSamples samples(path, shape);
  if (path.extension() == ".safetensors") {
    read_tensors(path, samples);
  } else {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw SystemError(path.native(), "open", errno);
    read_sample_lines(file, path.native(), samples);
  }
  std::tie(shape_, samples_) = samples.all();
}

TaskSample FileTask::draw_sample(uint64_t, int64_t index, int64_t) const {
  check_argument(0 <= index && index < std::ssize(samples_), "FileTask: sample {} of {}", index,
                 samples_.size());
  return samples_[index];
}

config::Json FileTask::describe(uint64_t, int64_t) const {
  return {};
}

}  // namespace tessera::task
