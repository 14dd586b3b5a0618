#include "tessera/train/metrics_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "tessera/base/file.h"

namespace tessera {

using config::Json;

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
  File(File&& other) noexcept
      : path_(std::move(other.path_)),
        form_(std::move(other.form_)),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void write(const Json& line) {
    const std::string bytes = form_.bytes_of(line);
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t written = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw SystemError(path_.native(), "write", errno);
      done += static_cast<size_t>(written);
    }
  }

  void sync() {
    if (::fdatasync(descriptor_) != 0) throw SystemError(path_.native(), "write", errno);
  }

 private:
  std::filesystem::path path_;
  MetricsForm form_;
  int descriptor_ = -1;
};

MetricsLog::MetricsLog(const std::filesystem::path& path, int64_t through_step,
                       std::vector<MetricsForm> forms) {
  std::vector<Json> kept;
  if (through_step >= 0)
    for (Json& line : read(path))
      if (line["step"].get<int64_t>() <= through_step) kept.push_back(std::move(line));
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
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer())
      throw DataError(source, "is not a JSON object with a whole number 'step'; remove the line");
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

}  // namespace tessera
