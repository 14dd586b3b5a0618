#include "lab/task/sequence/file_task.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera::task {
namespace {

using config::Json;

/// Classes, tokens and channels that a file may have: no model of more would fit into memory.
constexpr int64_t kMostSymbols = int64_t{1} << 20;

/// Takes the samples of one file and checks each.
class Samples {
 public:
  Samples(const std::filesystem::path& path, const std::optional<TaskShape>& demanded)
      : path_(path.native()), demanded_(demanded) {}

  /// shape: what the file says, or what its first sample has; told: whether it is the file's last
  /// word, so that no sample makes it wider.
  void begin(TaskShape shape, bool told);
  bool begun() const { return shape_.has_value(); }
  const TaskShape& shape() const { return *shape_; }
  void add(TaskSample sample);
  /// Also checks that there are any.
  std::pair<TaskShape, std::vector<TaskSample>> all();

  /// Where the next sample stands.
  void set_place(const char* unit, int64_t number) {
    place_ = fmt::format("{}: {} {}", path_, unit, number);
  }
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw DataError(place_.empty() ? path_ : place_, format, std::forward<Args>(args)...);
  }

 private:
  void check_symbols(const char* what, const std::vector<int64_t>& symbols, int64_t& count) const;
  void check_numbers(const char* what, const std::vector<float>& numbers, int64_t rows,
                     int64_t width) const;

  std::string path_, place_;
  std::optional<TaskShape> demanded_, shape_;
  bool grows_ = false;
  std::vector<TaskSample> samples_;
};

void Samples::begin(TaskShape shape, bool told) {
  const auto text = [](const TaskShape& it) { return config::to_json(it).dump(); };
  for (int64_t width : {shape.vocabulary, shape.input_width, shape.output_width})
    if (width < 0 || width > kMostSymbols || shape.clip < 0)
      refuse("the shape is {}, expected widths from 0 to {}", text(shape), kMostSymbols);
  grows_ = !told && !demanded_;
  if (demanded_ && !told) {  // as many as the task has
    shape.vocabulary = shape.input_width > 0 ? 0 : demanded_->vocabulary;
    if (shape.targets == TargetKind::kClasses) shape.output_width = demanded_->output_width;
    shape.clip = demanded_->clip;
  }
  if (demanded_ && shape != *demanded_)
    refuse("the shape is {}, but the task has {}", text(shape), text(*demanded_));
  shape_ = shape;
}

void Samples::check_symbols(const char* what, const std::vector<int64_t>& symbols,
                            int64_t& count) const {
  const int64_t most = grows_ ? kMostSymbols : count;
  for (int64_t symbol : symbols) {
    if (symbol < 0 || symbol >= most)
      refuse("a {} is {}, expected a whole number from 0 to {}", what, symbol, most - 1);
    count = std::max(count, symbol + 1);
  }
}

void Samples::check_numbers(const char* what, const std::vector<float>& numbers, int64_t rows,
                            int64_t width) const {
  if (std::ssize(numbers) != rows * width)
    refuse("{} are {} numbers, expected {} rows of {}", what, numbers.size(), rows, width);
  if (!std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); }))
    refuse("{} hold a number that is not finite", what);
}

void Samples::add(TaskSample sample) {
  if (sample.answers == 0) refuse("no step answers");
  if (sample.first_answer < 0 || sample.first_answer > sample.steps - sample.answers)
    refuse("{} answers from step {} on do not fit into {} steps", sample.answers,
           sample.first_answer, sample.steps);
  const bool tokens = shape_->input_width == 0;
  if (std::ssize(sample.tokens) != (tokens ? sample.steps : 0))
    refuse("{} tokens, expected {}", sample.tokens.size(), tokens ? sample.steps : 0);
  check_symbols("token", sample.tokens, shape_->vocabulary);
  check_numbers("inputs", sample.inputs, sample.steps, shape_->input_width);
  const auto given = [&](TargetKind kind) { return shape_->targets == kind ? sample.answers : 0; };
  if (std::ssize(sample.classes) != given(TargetKind::kClasses))
    refuse("{} classes, expected {}", sample.classes.size(), given(TargetKind::kClasses));
  check_symbols("class", sample.classes, shape_->output_width);
  check_numbers("bits", sample.bits, given(TargetKind::kBits), shape_->output_width);
  check_numbers("vectors", sample.vectors, given(TargetKind::kVectors), shape_->output_width);
  if (!std::ranges::all_of(sample.bits, [](float x) { return x == 0 || x == 1; }))
    refuse("bits hold a number that is neither 0 nor 1");
  samples_.push_back(std::move(sample));
}

std::pair<TaskShape, std::vector<TaskSample>> Samples::all() {
  place_.clear();
  if (samples_.empty()) refuse("there is no sample");
  return {*shape_, std::move(samples_)};
}

TaskShape shape_from(const Json& json, const std::string& where) {
  TaskShape shape;
  try {
    config::from_json(json, shape, "shape");
  } catch (const UsageError& error) {
    throw DataError(where, "{}", error.what());
  }
  return shape;
}

template <typename T>
std::vector<T> values_of(const at::Tensor& tensor) {
  const at::Tensor whole = tensor.contiguous();
  return {whole.data_ptr<T>(), whole.data_ptr<T>() + whole.numel()};
}

/// [T, B] of int64 or [T, B, ..] of floats.
const at::Tensor& steps_of(const TensorFile& file, const std::string& name, int64_t T, int64_t B) {
  const auto found = file.tensors.find(name);
  const bool symbols = found != file.tensors.end() && found->second.dim() == 2;
  return symbols ? file.at(name, {T, B}, at::kLong) : file.at(name, {T, B, -1}, at::kFloat);
}

void read_tensors(const std::filesystem::path& path, Samples& samples) {
  const TensorFile file = TensorFile::load(path);
  const at::Tensor& answers = file.at("answers", {-1, -1}, at::kBool);
  const int64_t T = answers.size(0), B = answers.size(1);
  const at::Tensor& inputs = steps_of(file, "inputs", T, B);
  const at::Tensor& targets = steps_of(file, "targets", T, B);
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
    if (asked.back() - asked.front() + 1 != std::ssize(asked))
      samples.refuse("the steps that answer are not consecutive");
    TaskSample sample;
    sample.steps = asked.back() + 1;
    sample.first_answer = asked.front();
    sample.answers = std::ssize(asked);
    const auto seen = inputs.select(1, b).narrow(0, 0, sample.steps);
    const auto said = targets.select(1, b).narrow(0, sample.first_answer, sample.answers);
    if (tokens) sample.tokens = values_of<int64_t>(seen);
    if (!tokens) sample.inputs = values_of<float>(seen);
    if (classes) sample.classes = values_of<int64_t>(said);
    if (!classes)
      (samples.shape().targets == TargetKind::kBits ? sample.bits : sample.vectors) =
          values_of<float>(said);
    samples.add(std::move(sample));
  }
}

std::vector<int64_t> whole_numbers(const Json& list, const Samples& samples) {
  for (const Json& number : list)
    if (!number.is_number_integer())
      samples.refuse("a list has {}, expected whole numbers", number.dump());
  return list.get<std::vector<int64_t>>();
}

/// Rows of numbers, joined. width: of the first row.
std::vector<float> joined_rows(const Json& rows, int64_t& width, const Samples& samples) {
  std::vector<float> numbers;
  width = rows.empty() ? 0 : std::ssize(rows.front());
  for (const Json& row : rows) {
    if (!row.is_array() || std::ssize(row) != width)
      samples.refuse("a row is {}, expected a list of {} numbers", row.dump(), width);
    for (const Json& number : row) numbers.push_back(number.get<float>());
  }
  return numbers;
}

TaskSample sample_from(const Json& line, TaskShape& shape, const Samples& samples) {
  TaskSample sample;
  for (const auto& [key, value] : line.items()) {
    if (key == "first_answer" && value.is_number_integer()) continue;
    if (!value.is_array()) samples.refuse("{} is {}, expected a list", key, value.dump());
    if (key == "tokens") {
      sample.tokens = whole_numbers(value, samples);
      sample.steps = std::ssize(value);
    } else if (key == "inputs") {
      sample.inputs = joined_rows(value, shape.input_width, samples);
      sample.steps = std::ssize(value);
    } else if (key == "classes") {
      sample.classes = whole_numbers(value, samples);
      shape.targets = TargetKind::kClasses;
    } else if (key == "bits" || key == "vectors") {
      shape.targets = key == "bits" ? TargetKind::kBits : TargetKind::kVectors;
      (key == "bits" ? sample.bits : sample.vectors) =
          joined_rows(value, shape.output_width, samples);
    } else {
      samples.refuse(
          "'{}' is unknown, expected inputs or tokens, classes, bits or vectors, and "
          "first_answer",
          key);
    }
    if (key != "tokens" && key != "inputs") sample.answers = std::ssize(value);
  }
  if (shape.targets == TargetKind::kVectors) shape.clip = std::numeric_limits<double>::infinity();
  sample.first_answer = line.value("first_answer", sample.steps - sample.answers);
  return sample;
}

void read_lines(const std::filesystem::path& path, Samples& samples) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemError(path.native(), "open", errno);
  std::string text;
  for (int64_t number = 1; std::getline(file, text); ++number) {
    samples.set_place("line", number);
    try {
      const Json line = config::parse_json(text, fmt::format("{}: line {}", path.native(), number));
      if (!line.is_object()) samples.refuse("expected an object, found {}", line.type_name());
      if (number == 1 && line.contains("shape")) {
        samples.begin(shape_from(line["shape"], path.native()), true);
        continue;
      }
      TaskShape own;
      TaskSample sample = sample_from(line, own, samples);
      if (!samples.begun()) samples.begin(own, false);
      samples.add(std::move(sample));
    } catch (const nlohmann::json::exception& error) {
      samples.refuse("{}", error.what());
    }
  }
  if (file.bad()) throw SystemError(path.native(), "read", errno);
}

Json rows_of(const std::vector<float>& numbers, int64_t width) {
  Json rows = Json::array();
  for (auto row = numbers.begin(); row != numbers.end(); row += width)
    rows.push_back(std::vector<float>(row, row + width));
  return rows;
}

}  // namespace

FileTask::FileTask(const std::filesystem::path& path, const std::optional<TaskShape>& shape) {
  Samples samples(path, shape);
  if (path.extension() == ".safetensors")
    read_tensors(path, samples);
  else
    read_lines(path, samples);
  std::tie(shape_, samples_) = samples.all();
}

TaskSample FileTask::sample(uint64_t, int64_t index, int64_t) const {
  check_argument(0 <= index && index < std::ssize(samples_), "FileTask: sample {} of {}", index,
                 samples_.size());
  return samples_[static_cast<size_t>(index)];
}

Json FileTask::describe(uint64_t seed, int64_t index) const {
  const TaskSample one = sample(seed, index);
  Json line;
  if (shape_.vocabulary > 0)
    line["tokens"] = one.tokens;
  else
    line["inputs"] = rows_of(one.inputs, shape_.input_width);
  const std::string targets(config::enum_name(shape_.targets));
  if (shape_.targets == TargetKind::kClasses)
    line[targets] = one.classes;
  else
    line[targets] =
        rows_of(shape_.targets == TargetKind::kBits ? one.bits : one.vectors, shape_.output_width);
  line["first_answer"] = one.first_answer;
  return line;
}

}  // namespace tessera::task
