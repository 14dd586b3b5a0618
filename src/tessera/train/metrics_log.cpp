#include "tessera/train/metrics_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"

namespace tessera {

using config::Json;

MetricsLog::MetricsLog(const std::filesystem::path& path, int64_t through_step) : path_(path) {
  std::string kept;
  if (through_step >= 0)
    for (const Json& line : read(path))
      if (line["step"].get<int64_t>() <= through_step) kept += line.dump() + "\n";
  write_file(path, kept);
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) throw SystemError(path.native(), "open", errno);
}

MetricsLog::~MetricsLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void MetricsLog::write(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(descriptor_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw SystemError(path_.native(), "write", errno);
    done += static_cast<size_t>(written);
  }
}

void MetricsLog::sync() {
  if (::fdatasync(descriptor_) != 0) throw SystemError(path_.native(), "write", errno);
}

std::vector<Json> MetricsLog::read(const std::filesystem::path& path) {
  std::vector<Json> lines;
  if (!std::filesystem::exists(path)) return lines;
  const std::string text = read_file(path);
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string source = fmt::format("{}: line {}", path.native(), lines.size() + 1);
    Json line = config::parse_json(std::string_view(text).substr(begin, end - begin), source);
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer())
      throw DataError(source, "is not a JSON object with a whole number 'step'; remove the line");
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

}  // namespace tessera
