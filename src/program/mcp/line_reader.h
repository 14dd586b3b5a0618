#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tessera::mcp {

/// Lines of a stream, a limit on their length, and a look at those that have come without waiting.
class LineReader {
 public:
  static constexpr size_t kLongest = 1 << 24;  ///< bytes

  /// descriptor: is read, and not closed.
  explicit LineReader(int descriptor, size_t longest = kLongest)
      : descriptor_(descriptor), longest_(longest) {}

  struct Line {
    std::string text = {};  ///< without its end
    bool too_long = false;  ///< its text was dropped
  };
  /// Waits for the next line; none at the end of the stream, and where InterruptGuard heard a
  /// signal. The last line may lack its end. Throws SystemError.
  std::optional<Line> next();
  /// The next line where all of it has come. Throws SystemError.
  std::optional<Line> at_hand();

 private:
  std::optional<Line> take();
  bool has_input(int milliseconds) const;
  void read_some();

  int descriptor_;
  size_t longest_;
  std::string buffer_ = {};
  size_t searched_ = 0;    // bytes of it that hold no end of a line
  bool too_long_ = false;  // the line that the buffer begins with
  bool ended_ = false;
};

}  // namespace tessera::mcp
