#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

/// A stored pair that spoke for a token.
struct ViewedMemory {
  int64_t layer = 0, head = 0;  ///< counted from 1
  int64_t position = 0;         ///< of the token at which it was stored
  double weight = 0;            ///< in the head's reading
  double logit = 0;             ///< what it added to the token's logit
};

/// A token of a text, and why the model expected it (or not).
struct ViewedToken {
  std::string text;
  double probability = 0;  ///< that the model gave it
  std::vector<std::pair<std::string, double>> alternatives =
      {};                                                  ///< texts and probabilities, best first
  std::vector<std::pair<std::string, double>> parts = {};  ///< what made its logit: names and sums
  std::vector<ViewedMemory> memories = {};                 ///< those that added most, first
};

/// A text whose tokens can be pointed at, focused or clicked: the part of a page that then shows
/// the token's probability, the parts of its logit, and its memories, with the places in the text
/// where they were stored. The first token has nothing before it and no explanation. All text is
/// escaped. Throws UsageError on a memory at a position that the text lacks.
std::string token_view(const std::vector<ViewedToken>& tokens);

/// What token_view() needs in the page that shows it.
extern const std::string_view kTokenViewStyle;
extern const std::string_view kTokenViewScript;

}  // namespace tessera
