#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::serve {

/// Most bytes of a request's first line and headers.
constexpr size_t kMostHeadBytes = 1 << 16;

/// What a client has sent that nobody has read yet: its next requests, as their bytes arrive.
class RequestBuffer {
 public:
  /// body_bytes: most bytes of a request's body that are waited for.
  explicit RequestBuffer(size_t body_bytes) : body_bytes_(body_bytes) {}

  void append(std::string_view bytes) { bytes_.append(bytes); }
  /// Bytes that are here.
  size_t size() const { return bytes_.size() - first_; }

  enum class Arrived { kNothing, kPart, kRequest };
  /// How much of the next request is here. Whole is also one that is refused whatever follows, by
  /// the size of its head or its body, and one whose body must be read to know its end
  /// (reads_on()).
  Arrived arrived();
  /// Whether the next request's body comes in chunks, or when it is asked for (Expect).
  bool reads_on() const { return reads_on_; }
  /// Bytes that may still be read of the next request.
  size_t left() const { return kMostHeadBytes + body_bytes_ - taken_; }
  /// Takes bytes of the next request; returns how many.
  size_t read(char* to, size_t size);
  /// The next request is answered. What was not read of it is dropped.
  void end_request();

 private:
  void read_head();

  size_t body_bytes_;
  std::string bytes_;
  size_t first_ = 0;    // in bytes_: the first that is not read
  size_t scanned_ = 0;  // the end of the head is not before this one
  size_t end_ = 0;      // of the next request, once its head is here
  size_t taken_ = 0;    // bytes of it that were read
  bool reads_on_ = false;
};

}  // namespace tessera::serve
