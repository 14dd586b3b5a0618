#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_reader.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/source_search.h"

namespace tessera {

/// The most often that a context never stored may pass for a stored one.
constexpr double kErrorRate = 0.01;

/// Reads a store's memory on from a text, token by token. With the bound code it decodes by
/// likelihood ratio, with the words' frequencies in the store as prior; with the paper's code by
/// score, as the paper does.
class StoreReader {
 public:
  /// The store must outlive it. error_rate: in (0, 1), of LikelihoodDecoder.
  explicit StoreReader(const MemoStore& store, double error_rate = kErrorRate);

  void append(std::span<const int32_t> tokens);
  void append(int32_t token) { reader_.append(token); }

  /// What comes next, as the memory has it.
  NextToken next();
  /// The same for contexts that have nothing to do with what was appended, many at once.
  std::vector<NextToken> next_of(std::span<const std::span<const int32_t>> contexts) const;
  /// Of each token [V], to come next (LikelihoodDecoder::probabilities).
  std::vector<double> probabilities();

  const LikelihoodDecoder& decoder() const { return decoder_; }

 private:
  bool by_likelihood() const;

  const MemoStore& store_;
  double noise_;
  LikelihoodDecoder decoder_;
  TextReader reader_;
};

/// Whether a text goes on with what the memory says next. It begins where its context is told from
/// one never stored (recalled); then (`reciting`) it goes on as long as that is the likelier, given
/// that nine of ten tokens of a text go on.
bool goes_on(const NextToken& next, bool reciting);

/// Why a recall ended. kNotStored: nothing stored stands out as going on from here.
enum class RecallEnd { kEnoughTokens, kEndOfDocument, kNotStored };
constexpr std::array<std::string_view, 3> enum_names(RecallEnd) {
  return {"tokens", "end-of-document", "not-stored"};
}

struct RecallOptions {
  int64_t tokens = 50;  ///< at most
  double error_rate = kErrorRate;
  size_t sources = 3;  ///< named at most for each token
};

struct Recall {
  std::vector<NextToken> tokens;      ///< recalled, without the end of text
  std::vector<TokenSources> sources;  ///< of each
  RecallEnd end = RecallEnd::kEnoughTokens;
};

/// Recites what the memory holds after `prompt` (tokens, at least the shortest window), looking
/// ahead (Recital) under the bound code and by the best token each time under the paper's, then
/// finds where each comes from. Throws std::invalid_argument on a prompt that is too short.
Recall recall(const MemoStore& store, std::span<const int32_t> prompt, const RecallOptions& options,
              const std::function<void(const NextToken&)>& on_token = {});

/// Throws std::invalid_argument, saying how many tokens a prompt needs, where `prompt` is shorter
/// than the shortest window.
void check_prompt(const MemoStore& store, std::span<const int32_t> prompt);

}  // namespace tessera
