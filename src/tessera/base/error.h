#pragma once

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

/// Data from outside (a file, a stream) that is damaged, hostile or of the wrong kind. The message
/// starts with the source's name. The program exits with status 3.
class DataError : public std::runtime_error {
 public:
  /// source: the file's path or "standard input"; then a fmt format and its arguments, which say
  /// where (byte or line), what was found, what was expected and how to mend it.
  template <typename... Args>
  DataError(std::string_view source, fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(
            fmt::format("{}: {}", source, fmt::format(format, std::forward<Args>(args)...))) {}
  /// The whole message.
  explicit DataError(const std::string& message) : std::runtime_error(message) {}
};

/// A caller's mistake: an argument, command line or configuration that asks for something that does
/// not exist or makes no sense. The program exits with status 2.
class UsageError : public std::runtime_error {
 public:
  template <typename... Args>
  explicit UsageError(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// The operating system refused something (no such file, disk full). The program exits with
/// status 1.
class SystemError : public std::runtime_error {
 public:
  /// path: what it was refused for; action: "open", "write", …; code: the errno.
  SystemError(std::string_view path, std::string_view action, int code)
      : SystemError(fmt::format("{}: cannot {}: {}", path, action, std::strerror(code)), code) {}
  /// The whole message, and the errno where there is one.
  explicit SystemError(const std::string& message, int code = 0)
      : std::runtime_error(message), code_(code) {}

  int code() const { return code_; }

 private:
  int code_;
};

/// Thrown by a long job that was asked to stop and has saved its state. The program exits with
/// status 130.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What `work` gives. The message of a DataError that it throws then begins with `source`.
template <typename Work>
auto saying_source(std::string_view source, const Work& work) {
  try {
    return work();
  } catch (const DataError& error) {
    throw DataError(source, "{}", error.what());
  }
}

/// Throws UsageError with the formatted message unless `condition` holds.
template <typename... Args>
void check_argument(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw UsageError(format, std::forward<Args>(args)...);
}

}  // namespace tessera
