#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text_matcher.h"
#include "tessera/sampling/sampling.h"

namespace tessera {

/// Turns the bytes of tokens, as they come, into text that is fit to show: whole UTF-8 characters
/// only, and nothing that may turn out to belong to a stop string. Bytes that are not UTF-8 become
/// U+FFFD. How the bytes are split into tokens makes no difference to the text as a whole.
class TextStream {
 public:
  /// Throws UsageError on an empty stop string.
  explicit TextStream(const std::vector<std::string>& stop_strings = {});

  /// Adds bytes; returns the text that has become final. Once a stop string is complete the text
  /// ends before it, and what comes later is ignored.
  std::string push(std::string_view bytes);
  /// The end: what was held back.
  std::string finish();
  /// Whether a stop string has come.
  bool stopped() const { return stopped_; }

 private:
  std::string release(size_t bytes);

  std::vector<TextMatcher> stop_strings_;
  std::string held_;   // may belong to a stop string
  std::string bytes_;  // start of a character
  bool stopped_ = false;
};

/// The bytes that a token stands for.
using TokenBytes = std::function<std::string(int64_t token)>;

/// How the tokens of a text are drawn, and where the text ends.
struct WritingOptions {
  int64_t max_tokens = 256;
  bool ignore_end = false;
  std::vector<std::string> stop = {};
  SamplingOptions sampling = {};
  std::optional<int64_t> end_of_text = {};  ///< ends a text; none where ignore_end is wanted
  TokenBytes token_bytes = {};              ///< without it there is no text, and no stop strings

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("max_tokens", max_tokens, "maximum number of tokens to generate", config::at_least(0));
    field("ignore_end", ignore_end, "continue past the end-of-text token");
    field("stop", stop, "stop before this text; may be given several times");
    field("alternatives", sampling.alternatives,
          "report this many of the most probable tokens at each step", config::at_least(0));
    sampling.visit_fields(field);
  }

  /// Throws UsageError that names the option and what it may be.
  void check() const;
};

/// Why a text ended. kNotStored: there is not enough evidence that a stored text continues here.
enum class Finish { kMaxTokens, kStopString, kEndOfText, kNotStored, kCancelled, kInterrupted };
constexpr std::array<std::string_view, 6> enum_names(Finish) {
  return {"max_tokens", "stop_string", "end_of_text", "not_stored", "cancelled", "interrupted"};
}

/// What is new of a text.
struct Written {
  std::optional<ScoredToken> token = {};  ///< none where the text ends without another one
  std::string text = {};                  ///< what has become final (TextStream)
  std::optional<Finish> finish = {};      ///< where the text ends
};

/// Writes one text: draws its tokens one at a time, turns them into text, and says where it ends.
/// To predict the next token is the caller's part: the rows of a network, or the memory of a store.
class TextWriter {
 public:
  /// The text goes on after a prompt of this many tokens. The options must outlive the writer;
  /// sequence: of random numbers, as draw_token() takes it. Throws UsageError on an empty stop
  /// string.
  TextWriter(const WritingOptions& options, uint64_t sequence, size_t prompt);

  /// Draws the token that follows `context`, prompt and text so far, from its logits [V], and adds
  /// it. Throws as draw_token().
  Written draw(std::span<const float> logits, std::span<const int64_t> context);
  /// Adds a token that is known.
  Written add(ScoredToken token);
  /// Ends the text here.
  Written end(Finish reason);

 private:
  std::optional<Finish> reason_to_finish(int64_t token) const;

  const WritingOptions* options_;
  uint64_t sequence_;
  size_t prompt_;  // tokens
  TextStream stream_;
  int64_t written_ = 0;  // tokens
};

}  // namespace tessera
