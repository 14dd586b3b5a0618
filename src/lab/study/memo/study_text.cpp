#include "lab/study/memo/study_text.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/random.h"

namespace tessera::memo_study {

StudyText beginning_of(const CorpusConfig& data, int64_t tokens, StudyContext& context) {
  const Corpus corpus =
      prepare_corpus(data, context.folder() / "corpus", Start::kNew, context.progress());
  if (corpus.training.size() < tokens)
    throw UsageError("{} tokens are wanted of {}, whose training part has {}", tokens,
                     corpus.description, corpus.training.size());
  std::vector<int64_t> ids(static_cast<size_t>(tokens));
  corpus.training.read(0, ids);
  if (context.progress())
    fmt::print(context.progress(), "Text: {}; {}\n", corpus.description,
               corpus.tokenizer.description());
  return {corpus.description, corpus.tokenizer.vocabulary_size(), {ids.begin(), ids.end()}};
}

std::vector<int64_t> random_places(int64_t begin, int64_t end, int64_t count, uint64_t seed) {
  std::vector<int64_t> places;
  if (end - begin <= count) {
    for (int64_t place = begin; place < end; ++place) places.push_back(place);
    return places;
  }
  RandomStream random(seed);
  for (int64_t i = 0; i < count; ++i)
    places.push_back(begin +
                     static_cast<int64_t>(random.below(static_cast<uint64_t>(end - begin))));
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<std::span<const int32_t>> contexts_before(std::span<const int32_t> tokens,
                                                      std::span<const int64_t> places) {
  std::vector<std::span<const int32_t>> contexts;
  for (const int64_t place : places)
    contexts.push_back(tokens.subspan(static_cast<size_t>(place - kLongestWindow), kLongestWindow));
  return contexts;
}

std::vector<double> counts_of(std::span<const int32_t> tokens, int64_t vocabulary) {
  std::vector<double> counts(static_cast<size_t>(vocabulary), 1.0);
  for (const int32_t token : tokens) ++counts[token];
  return counts;
}

}  // namespace tessera::memo_study
