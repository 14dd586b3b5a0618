#include "lab/learner/sequence/sample_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace tessera::task {
namespace {

using config::Json;

/// Classes, tokens and channels that a file may have: no model of more would fit into memory.
constexpr int64_t kMostSymbols = int64_t{1} << 20;

bool is_int64(const Json& number) {
  return number.is_number_unsigned() ? std::in_range<int64_t>(number.get<uint64_t>())
                                     : number.is_number_integer();
}

std::vector<int64_t> whole_numbers(const Json& list, const FileSamples& samples) {
  for (const Json& number : list)
    if (!is_int64(number))
      samples.refuse("a list has {}, expected whole numbers below 2^63", number.dump());
  return list.get<std::vector<int64_t>>();
}

/// Rows of numbers, joined. width: of the first row.
std::vector<float> joined_rows(const Json& rows, int64_t& width, const FileSamples& samples) {
  std::vector<float> numbers;
  width = rows.empty() ? 0 : std::ssize(rows.front());
  for (const Json& row : rows) {
    if (!row.is_array() || std::ssize(row) != width)
      samples.refuse("a row is {}, expected a list of {} numbers", row.dump(), width);
    for (const Json& number : row) numbers.push_back(number.get<float>());
  }
  return numbers;
}

void check_key(const std::string& key, const Json& value, const FileSamples& samples) {
  constexpr std::string_view kKeys[] = {"first_answer", "tokens", "inputs",
                                        "classes",      "bits",   "vectors"};
  if (std::ranges::find(kKeys, key) == std::end(kKeys))
    samples.refuse(
        "'{}' is unknown, expected inputs or tokens, classes, bits or vectors, and first_answer",
        key);
  const bool is_list = key != "first_answer";
  if (!(is_list ? value.is_array() : value.is_number_integer()))
    samples.refuse("{} is {}, expected a {}", key, value.dump(), is_list ? "list" : "whole number");
}

TaskSample sample_from(const Json& line, TaskShape& shape, const FileSamples& samples) {
  TaskSample sample;
  std::string answer;  // its kind
  for (const auto& [key, value] : line.items()) {
    check_key(key, value, samples);
    if (key == "first_answer") continue;
    if (key == "tokens") {
      sample.tokens = whole_numbers(value, samples);
      sample.steps = std::ssize(value);
    } else if (key == "inputs") {
      sample.inputs = joined_rows(value, shape.input_width, samples);
      sample.steps = std::ssize(value);
    } else if (key == "classes") {
      sample.classes = whole_numbers(value, samples);
      shape.targets = TargetKind::kClasses;
    } else {
      shape.targets = key == "bits" ? TargetKind::kBits : TargetKind::kVectors;
      (key == "bits" ? sample.bits : sample.vectors) =
          joined_rows(value, shape.output_width, samples);
    }
    if (key == "tokens" || key == "inputs") continue;
    if (!answer.empty()) samples.refuse("the answer is {} and {}, expected one", answer, key);
    answer = key;
    sample.answers = std::ssize(value);
  }
  if (shape.targets == TargetKind::kVectors) shape.clip = std::numeric_limits<double>::infinity();
  sample.first_answer = line.value("first_answer", sample.steps - sample.answers);
  return sample;
}

}  // namespace

void FileSamples::begin(TaskShape shape, bool told) {
  const auto text = [](const TaskShape& it) { return config::to_json(it).dump(); };
  for (int64_t width : {shape.vocabulary, shape.input_width, shape.output_width})
    if (width < 0 || width > kMostSymbols)
      refuse("the shape is {}, expected widths from 0 to {}", text(shape), kMostSymbols);
  if (shape.vocabulary > 0 && shape.input_width > 0)
    refuse("the shape is {}, expected a vocabulary or an input_width, the other one 0",
           text(shape));
  if (shape.clip < 0 || (shape.clip == 0 && shape.targets == TargetKind::kVectors))
    refuse("the shape is {}, expected a clip above 0: no error in a vector would count",
           text(shape));
  if (demanded_) check_inputs(shape.input_width > 0, demanded_->input_width > 0);
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

void FileSamples::check_inputs(bool found, bool needed) const {
  const auto name = [](bool inputs) { return inputs ? "inputs" : "tokens"; };
  if (found != needed) refuse("found {}, but the task needs {}", name(found), name(needed));
}

void FileSamples::check_symbols(const char* what, const std::vector<int64_t>& symbols,
                                int64_t least, int64_t& count) const {
  const int64_t most = grows_ ? kMostSymbols : count;
  for (int64_t symbol : symbols) {
    if (symbol < least || symbol >= most)
      refuse("a {} is {}, expected a whole number from {} to {}", what, symbol, least, most - 1);
    count = std::max(count, symbol + 1);
  }
}

void FileSamples::check_numbers(const char* what, const std::vector<float>& numbers, int64_t rows,
                                int64_t width) const {
  if (std::ssize(numbers) != rows * width)
    refuse("{} are {} numbers, expected {} rows of {}", what, numbers.size(), rows, width);
  if (!std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); }))
    refuse("{} hold a number that is not finite", what);
}

void FileSamples::add(TaskSample sample) {
  if (sample.answers == 0) refuse("no step answers");
  if (sample.first_answer < 0 || sample.first_answer > sample.steps - sample.answers)
    refuse("{} answers from step {} on do not fit into {} steps", sample.answers,
           sample.first_answer, sample.steps);
  if (shape_->targets != TargetKind::kClasses && shape_->output_width == 0)
    refuse("the answers have no numbers");
  const bool tokens = shape_->input_width == 0;
  if (sample.inputs.empty() != sample.tokens.empty()) check_inputs(sample.tokens.empty(), !tokens);
  if (std::ssize(sample.tokens) != (tokens ? sample.steps : 0))
    refuse("{} tokens, expected {}", sample.tokens.size(), tokens ? sample.steps : 0);
  check_symbols("token", sample.tokens, 0, shape_->vocabulary);
  check_numbers("inputs", sample.inputs, sample.steps, shape_->input_width);
  const auto given = [&](TargetKind kind) { return shape_->targets == kind ? sample.answers : 0; };
  if (std::ssize(sample.classes) != given(TargetKind::kClasses))
    refuse("{} classes, expected {}", sample.classes.size(), given(TargetKind::kClasses));
  check_symbols("class", sample.classes, kNotAsked, shape_->output_width);
  if (!sample.classes.empty() && std::ranges::count(sample.classes, kNotAsked) == sample.answers)
    refuse("no step answers");
  check_numbers("bits", sample.bits, given(TargetKind::kBits), shape_->output_width);
  check_numbers("vectors", sample.vectors, given(TargetKind::kVectors), shape_->output_width);
  if (!std::ranges::all_of(sample.bits, [](float x) { return x == 0 || x == 1; }))
    refuse("bits hold a number that is neither 0 nor 1");
  samples_.push_back(std::move(sample));
}

std::pair<TaskShape, std::vector<TaskSample>> FileSamples::all() {
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

void read_sample_lines(std::istream& file, const std::string& path, FileSamples& samples) {
  std::string text;
  for (int64_t number = 1; std::getline(file, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    samples.set_place("line", number);
    try {
      const Json line = config::parse_json(text, fmt::format("{}: line {}", path, number));
      if (!line.is_object()) samples.refuse("expected an object, found {}", line.type_name());
      if (!samples.begun() && line.contains("shape")) {
        samples.begin(shape_from(line["shape"], path), true);
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
  if (file.bad()) throw SystemError(path, "read", errno);
}

}  // namespace tessera::task
