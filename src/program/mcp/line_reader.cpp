#include "program/mcp/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"

namespace tessera::mcp {
namespace {

// A signal ends poll() at once, unless it comes to another thread, or just before the call.
constexpr int kBetweenLooksAtSignals = 1000;  // milliseconds

}  // namespace

std::optional<LineReader::Line> LineReader::next() {
  while (!InterruptGuard::interrupted()) {
    if (auto line = take()) return line;
    if (ended_) return std::nullopt;
    if (has_input(kBetweenLooksAtSignals)) read_some();
  }
  return std::nullopt;
}

std::optional<LineReader::Line> LineReader::at_hand() {
  for (;;) {
    if (auto line = take()) return line;
    if (ended_ || !has_input(0)) return std::nullopt;
    read_some();
  }
}

std::optional<LineReader::Line> LineReader::take() {
  const size_t end = buffer_.find('\n', searched_);
  const bool whole = end != std::string::npos;
  const size_t length = whole ? end : buffer_.size();
  if (length > longest_) too_long_ = true;
  if (!whole && too_long_) buffer_.clear();
  searched_ = whole ? 0 : buffer_.size();
  if (!whole && (!ended_ || (buffer_.empty() && !too_long_))) return std::nullopt;
  Line line{too_long_ ? "" : buffer_.substr(0, length), std::exchange(too_long_, false)};
  buffer_.erase(0, length + (whole ? 1 : 0));
  searched_ = 0;
  return line;
}

bool LineReader::has_input(int milliseconds) const {
  pollfd input{descriptor_, POLLIN, 0};
  const int ready = ::poll(&input, 1, milliseconds);
  if (ready < 0 && errno != EINTR) throw SystemError("standard input", "wait for", errno);
  return ready > 0;
}

void LineReader::read_some() {
  std::array<char, 1 << 16> bytes;
  const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
  if (count < 0 && errno != EINTR && errno != EAGAIN)
    throw SystemError("standard input", "read", errno);
  if (count > 0) buffer_.append(bytes.data(), count);
  ended_ = count == 0;
}

}  // namespace tessera::mcp
