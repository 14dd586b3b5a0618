#include "tessera/train/metrics_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/file.h"

namespace tessera {
namespace {

using config::Json;

struct Scalar {
  std::string name;
  double value;
};

/// The numbers of a line that are finite, but for those that say when they were.
std::vector<Scalar> scalars_of(const Json& line) {
  static const std::set<std::string> kAxes = {"step", "tokens", "elapsed_seconds"};
  std::vector<Scalar> scalars;
  const auto add = [&](const char* group, const Json& values) {
    for (const auto& [name, value] : values.items())
      if (value.is_number() && std::isfinite(value.get<double>()) && !kAxes.contains(name))
        scalars.push_back({fmt::format("{}/{}", group, name), value.get<double>()});
  };
  if (line.value("kind", "") == "evaluation")
    add("validation", line.value("metrics", Json::object()));
  else
    add("training", line);
  return scalars;
}

/// Whether a line has what those who read it ask for: it may come from a damaged file.
bool is_entry(const Json& line) {
  const auto is_value = [](const Json& json) { return json.is_number() || json.is_null(); };
  const auto may_have = [&](const char* name, auto fits) {
    return !line.contains(name) || fits(line[name]);
  };
  return line.is_object() && line.contains("step") && line["step"].is_number_integer() &&
         may_have("kind", [](const Json& kind) { return kind.is_string(); }) &&
         may_have("elapsed_seconds", [](const Json& time) { return time.is_number(); }) &&
         may_have("tokens_per_second", [](const Json& speed) { return speed.is_number(); }) &&
         may_have("metrics",
                  [&](const Json& metrics) {
                    return metrics.is_object() && std::ranges::all_of(metrics, is_value);
                  }) &&
         (line.value("kind", "") != "step" || is_value(line.value("loss", Json("none"))));
}

/// A number that is not finite is written as null.
double number_of(const Json& value) {
  return value.is_null() ? NAN : value.get<double>();
}

double elapsed_seconds(const Json& line) {
  return line.value("elapsed_seconds", 0.0);
}

/// CRC-32C (Castagnoli), as RFC 3720, B.4 has it.
uint32_t crc32c(std::string_view bytes) {
  static const auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t rest = byte;
      for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0x82F63B78u : 0);
      table[byte] = rest;
    }
    return table;
  }();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  return ~crc;
}

/// Little-endian.
template <typename Number>
std::string fixed(Number number) {
  std::string bytes(sizeof number, '\0');
  for (size_t i = 0; i < sizeof number; ++i) bytes[i] = static_cast<char>(number >> 8 * i);
  return bytes;
}

std::string record(const std::string& data) {
  const auto masked = [](std::string_view bytes) {
    return fixed(std::rotr(crc32c(bytes), 15) + 0xA282EAD8u);
  };
  const std::string length = fixed(uint64_t{data.size()});
  return length + masked(length) + data + masked(data);
}

std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

/// Fields of protocol buffers: number and wire type, then the value.
std::string text_field(int number, const std::string& text) {
  return static_cast<char>(number << 3 | 2) + varint(text.size()) + text;
}
std::string varint_field(int number, uint64_t value) {
  return static_cast<char>(number << 3) + varint(value);
}
std::string double_field(int number, double value) {
  return static_cast<char>(number << 3 | 1) + fixed(std::bit_cast<uint64_t>(value));
}
std::string float_field(int number, float value) {
  return static_cast<char>(number << 3 | 5) + fixed(std::bit_cast<uint32_t>(value));
}

/// tensorflow.Event: wall_time = 1, step = 2, file_version = 3, summary = 5; of a summary's value =
/// 1: tag = 1, simple_value = 2.
std::string event_of(const Json& line, double began) {
  std::string summary;
  for (const auto& [name, value] : scalars_of(line))
    summary += text_field(1, text_field(1, name) + float_field(2, static_cast<float>(value)));
  if (summary.empty()) return "";
  return record(double_field(1, began + elapsed_seconds(line)) +
                varint_field(2, static_cast<uint64_t>(line.at("step").get<int64_t>())) +
                text_field(5, summary));
}

std::string rows_of(const Json& line) {
  std::string rows;
  for (const auto& [name, value] : scalars_of(line))
    rows += fmt::format("{},{},{},{}\n", line.at("step").get<int64_t>(), elapsed_seconds(line),
                        name, value);
  return rows;
}

/// Each line as JSON; bytes of a text that are not UTF-8 become the replacement character.
MetricsForm jsonl_form() {
  return {MetricsLog::kFile, "", [](const Json& line) {
            return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
          }};
}

}  // namespace

MetricsForm csv_form() {
  return {"metrics.csv", "step,elapsed_seconds,name,value\n", rows_of};
}

MetricsForm tensorboard_form(double began) {
  return {"tensorboard/events.out.tfevents.tessera",
          record(double_field(1, began) + text_field(3, "brain.Event:2")),
          [began](const Json& line) { return event_of(line, began); }};
}

/// A file of one form, to which lines are appended.
class MetricsLog::File {
 public:
  File(std::filesystem::path path, MetricsForm form, const std::vector<Json>& lines)
      : path_(std::move(path)), form_(std::move(form)) {
    std::string bytes = form_.header;
    for (const Json& line : lines) bytes += form_.bytes_of(line);
    write_file(path_, bytes);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (descriptor_ < 0) throw SystemError(path_.native(), "open", errno);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(descriptor_); }

  void write(const Json& line) { write_all(descriptor_, form_.bytes_of(line), path_); }

  void sync() {
    if (::fdatasync(descriptor_) != 0) throw SystemError(path_.native(), "write", errno);
  }

 private:
  std::filesystem::path path_;
  MetricsForm form_;
  int descriptor_;
};

MetricsLog::MetricsLog(const std::filesystem::path& path, int64_t through_step,
                       std::vector<MetricsForm> forms,
                       const std::vector<std::string>& written_again) {
  const auto stays = [&](const Json& line) {
    const auto step = line.at("step").get<int64_t>();
    const bool is_written_again =
        std::ranges::find(written_again, line.value("kind", "")) != written_again.end();
    return step < through_step || (step == through_step && !is_written_again);
  };
  std::vector<Json> kept;
  if (through_step >= 0) kept = read(path);
  std::erase_if(kept, std::not_fn(stays));
  files_.emplace_back(path, jsonl_form(), kept);
  for (MetricsForm& form : forms) {
    const std::filesystem::path file = path.parent_path() / form.file;
    files_.emplace_back(file, std::move(form), kept);
  }
}

MetricsLog::~MetricsLog() = default;

void MetricsLog::write(const Json& line) {
  for (File& file : files_) file.write(line);
}

void MetricsLog::sync() {
  files_.front().sync();
}

std::vector<Json> MetricsLog::read(const std::filesystem::path& path) {
  std::vector<Json> lines;
  if (!std::filesystem::exists(path)) return lines;
  const std::string text = read_file(path);
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string source = fmt::format("{}: line {}", path.native(), lines.size() + 1);
    Json line = config::parse_json(std::string_view(text).substr(begin, end - begin), source);
    if (!is_entry(line))
      throw DataError(source,
                      "is not a JSON object with a whole number 'step' and the numbers that a line "
                      "of its kind has; remove the line");
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

double loss_of(const std::map<std::string, double>& metrics) {
  const auto loss = metrics.find("loss");
  return loss == metrics.end() ? NAN : loss->second;
}

std::map<int64_t, std::map<std::string, double>> logged_evaluations(
    const std::filesystem::path& run) {
  std::map<int64_t, std::map<std::string, double>> evaluations;
  for (const Json& line : MetricsLog::read(run / MetricsLog::kFile)) {
    if (line.value("kind", "") != "evaluation") continue;
    const Json metrics = line.value("metrics", Json::object());
    for (const auto& [name, value] : metrics.items())
      evaluations[line["step"].get<int64_t>()][name] = number_of(value);
  }
  return evaluations;
}

std::map<int64_t, double> logged_losses(const std::filesystem::path& run) {
  std::map<int64_t, double> losses;
  for (const Json& line : MetricsLog::read(run / MetricsLog::kFile))
    if (line.value("kind", "") == "step")
      losses[line["step"].get<int64_t>()] = number_of(line.at("loss"));
  return losses;
}

}  // namespace tessera
