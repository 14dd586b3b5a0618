#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/data/tokenizer.h"
#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_reader.h"
#include "tessera/sampling/text_writer.h"
#include "tessera/store/questioned_store.h"

namespace tessera::store {

/// How often, at most, a context that was never stored counts as stored.
constexpr double kErrorRate = 0.01;

/// What a store predicts after a text.
struct Prediction {
  memo::NextToken best;       ///< the next token, by the memory
  std::vector<float> logits;  ///< [V]: LikelihoodDecoder::log_probabilities()
};

/// What a store's memory holds after some texts. With the bound code it decodes by likelihood
/// ratio, with the tokens' frequencies in the store as prior; with the paper's code by score, as
/// the paper does.
class StoreReader {
 public:
  /// The store must outlive it. error_rate: in (0, 1), of LikelihoodDecoder.
  explicit StoreReader(const QuestionedStore& store, double error_rate = kErrorRate);

  /// The next token after each of these contexts, by the memory.
  std::vector<memo::NextToken> next_of(std::span<const std::span<const int32_t>> contexts) const;
  /// Whether recall() of this prompt would have a token or the end of a text. Throws UsageError
  /// where it is too short.
  bool continues(std::span<const int32_t> prompt) const;
  /// After each of these texts, of whose tokens the last ones count, as many as the longest window
  /// has.
  std::vector<Prediction> predict(std::span<const std::span<const int64_t>> texts) const;

  const memo::LikelihoodDecoder& decoder() const { return decoder_; }

 private:
  const QuestionedStore& store_;
  memo::LikelihoodDecoder decoder_;
};

/// Whether a text goes on with the next token. It begins once the evidence shows that the context
/// was stored (recalled); after that (`begun`) it goes on as long as this is more probable than
/// not, where nine of ten tokens are expected to be followed by another stored one.
bool goes_on(const memo::NextToken& next, bool begun);

/// How a store recites, whatever the prompt.
struct RecallOptions {
  int64_t tokens = 50;             ///< at most
  double error_rate = kErrorRate;  ///< of the bound code
  int64_t sources = 3;             ///< at most, for each token
  bool exact = false;              ///< read_question() leaves the text as it was typed

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("tokens", tokens, "maximum number of tokens to recite", config::at_least(0));
    field("error_rate", error_rate,
          "how often a text that was never stored may pass for a stored one; the recital stops "
          "when the match falls below this level",
          config::between(1e-300, 0.999999));
    field("sources", sources, "sources to look up for each token, best first",
          config::between(1, 1000));
    field("exact", exact,
          "ask the memory with the prompt exactly as it is, without correcting typing errors, "
          "spaces or capitals");
  }
};

struct Recall {
  std::vector<memo::NextToken> tokens;  ///< recalled, without the end of text
  std::vector<TokenSources> sources;    ///< of each
  Finish finish = Finish::kMaxTokens;
};

/// Recites what the memory holds after `prompt` (tokens, at least as many as the shortest window):
/// looking ahead (Recital) under the bound code, by the best token each time under the paper's.
/// Then it finds the sources of each token. Throws UsageError on a prompt that is too short, and on
/// an error rate where the store has the paper's code.
Recall recall(const QuestionedStore& store, std::span<const int32_t> prompt,
              const RecallOptions& options,
              const std::function<void(const memo::NextToken&)>& on_token = {});

/// Recited tokens in a row that stand so in one document, or tokens in a row without a source.
struct RecitedPassage {
  size_t first = 0, last = 0;             ///< tokens of the recital, from 0
  std::optional<Source> source = {};      ///< the best one of the first token
  int64_t last_line = 0;                  ///< of that document, on which the last token is
  int64_t matched_length = 0;             ///< the least of the tokens
  double probability = 0;                 ///< the least of the tokens
  std::vector<std::string> also_in = {};  ///< documents that match the last token as well
};

/// All tokens of a recital, in order.
std::vector<RecitedPassage> passages_of(const Recall& recall);

/// Throws UsageError, naming the number of tokens needed, if a prompt of so many is shorter than
/// the shortest window.
void check_prompt(const QuestionedStore& store, size_t tokens);

/// The text of recalled tokens, as they come one after the other. Where a question ends inside a
/// token (Question::rest), they begin with that end again; it is left out.
class RecitedText {
 public:
  /// The tokenizer must outlive it.
  RecitedText(const Tokenizer& tokenizer, std::string rest)
      : tokenizer_(tokenizer), rest_(std::move(rest)) {}

  /// What this token adds to the text.
  std::string_view add(int32_t token);
  const std::string& text() const { return text_; }

 private:
  const Tokenizer& tokenizer_;
  std::string rest_;  // that is to be left out yet
  std::string text_;
};

/// The bytes of the tokens that follow a question, as RecitedText shows them: what they repeat of
/// its rest is left out. The tokenizer must outlive the function; each text needs one of its own.
TokenBytes bytes_after(const Tokenizer& tokenizer, const std::string& rest);

/// Continues a question with tokens that are drawn by their probability in the store
/// (StoreReader::predict), where the store continues() it and for as long as a stored text
/// goes_on(): else it ends with Finish::kNotStored. The store gives the end of text and the tokens'
/// bytes. While an InterruptGuard lives, a signal ends it between two tokens. Calls `on_news` with
/// each token. Throws UsageError on options that make no sense and on a question that is too short.
Finish complete(const QuestionedStore& store, const Question& question,
                const WritingOptions& options, const std::function<void(const Written&)>& on_news);

}  // namespace tessera::store
