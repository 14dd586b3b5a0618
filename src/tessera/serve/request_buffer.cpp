#include "tessera/serve/request_buffer.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "tessera/serve/http.h"

namespace tessera::serve {
namespace {

constexpr std::string_view kLineEnd = "\r\n", kHeadEnd = "\r\n\r\n";

bool is_same_name(std::string_view a, std::string_view b) {
  return !HeaderOrder()(a, b) && !HeaderOrder()(b, a);
}

/// The value of the first header of this name.
std::optional<std::string_view> header_of(std::string_view head, std::string_view name) {
  for (size_t line = head.find(kLineEnd); line != std::string_view::npos;
       line = head.find(kLineEnd, line + 1)) {
    std::string_view text = head.substr(line + kLineEnd.size());
    text = text.substr(0, text.find(kLineEnd));
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || !is_same_name(text.substr(0, colon), name)) continue;
    text.remove_prefix(std::min(text.find_first_not_of(" \t", colon + 1), text.size()));
    return text;
  }
  return std::nullopt;
}

}  // namespace

RequestBuffer::Arrived RequestBuffer::arrived() {
  if (size() == 0) return Arrived::kNothing;
  if (end_ == 0) {
    const size_t found = bytes_.find(kHeadEnd, scanned_);
    if (found == std::string::npos) {
      scanned_ = std::max(first_, bytes_.size() - std::min(bytes_.size(), kHeadEnd.size() - 1));
      return size() > kMostHeadBytes ? Arrived::kRequest : Arrived::kPart;
    }
    scanned_ = found + kHeadEnd.size();
    read_head();
  }
  return bytes_.size() >= end_ ? Arrived::kRequest : Arrived::kPart;
}

/// The head ends at scanned_.
void RequestBuffer::read_head() {
  const std::string_view head = std::string_view(bytes_).substr(first_, scanned_ - first_);
  end_ = scanned_;
  reads_on_ = header_of(head, "Transfer-Encoding") || header_of(head, "Expect");
  const auto length = header_of(head, "Content-Length");
  uint64_t body = 0;
  if (reads_on_ || !length || head.size() > kMostHeadBytes) return;
  const auto [end, failure] =
      std::from_chars(length->data(), length->data() + length->size(), body);
  if (failure == std::errc() && body <= body_bytes_) end_ += static_cast<size_t>(body);
}

size_t RequestBuffer::read(char* to, size_t size) {
  const size_t last = end_ == 0 || reads_on_ ? bytes_.size() : std::min(end_, bytes_.size());
  const size_t count = std::min({size, last - std::min(first_, last), left()});
  std::copy_n(bytes_.data() + first_, count, to);
  first_ += count;
  taken_ += count;
  return count;
}

void RequestBuffer::end_request() {
  first_ = std::max(first_, std::min(end_, bytes_.size()));
  bytes_.erase(0, first_);
  if (bytes_.empty()) bytes_.shrink_to_fit();  // of thousands that are idle
  first_ = scanned_ = end_ = taken_ = 0;
  reads_on_ = false;
}

}  // namespace tessera::serve
