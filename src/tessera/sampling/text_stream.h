#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Turns the bytes of tokens, as they come, into text that is fit to show: whole UTF-8 characters
/// only, and nothing that may turn out to belong to a stop string. Bytes that are not UTF-8 become
/// U+FFFD. How the bytes are split into tokens makes no difference to the text as a whole.
class TextStream {
 public:
  /// Throws UsageError on an empty stop string.
  explicit TextStream(std::vector<std::string> stop_strings = {});

  /// Adds bytes; returns the text that has become final. Once a stop string is complete the text
  /// ends before it, and what comes later is ignored.
  std::string push(std::string_view bytes);
  /// The end: what was held back.
  std::string finish();
  /// Whether a stop string has come.
  bool stopped() const { return stopped_; }

 private:
  std::string release(size_t bytes);

  std::vector<std::string> stop_strings_;
  std::string held_;   // may belong to a stop string
  std::string bytes_;  // start of a character
  bool stopped_ = false;
};

}  // namespace tessera
