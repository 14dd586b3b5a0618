#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/study/study.h"
#include "tessera/memo/text_memory.h"
#include "tessera/text/corpus.h"

/// What the studies of natural text share: the text, its documents and places to ask at.
namespace tessera::memo_study {

constexpr int32_t kTextHeads = 4, kTextLayers = 3;
constexpr int64_t kLongestWindow = 64;  // tokens: heads^layers

/// The beginning of a corpus.
struct StudyText {
  std::string description;
  int64_t vocabulary;
  std::vector<int32_t> tokens;
};

/// Its first `tokens` tokens. Throws UsageError where it has fewer, and what prepare_corpus throws.
StudyText beginning_of(const CorpusConfig& data, int64_t tokens, StudyContext& context);

/// `count` places in [begin, end), in order, by the seed; all of them where there are fewer.
std::vector<int64_t> random_places(int64_t begin, int64_t end, int64_t count, uint64_t seed);

/// The kLongestWindow tokens before each place, which is at least that far in.
std::vector<std::span<const int32_t>> contexts_before(std::span<const int32_t> tokens,
                                                      std::span<const int64_t> places);

/// How often each token of the vocabulary occurs, plus one.
std::vector<double> counts_of(std::span<const int32_t> tokens, int64_t vocabulary);

}  // namespace tessera::memo_study
