#include "tessera/memo/text_reader.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/memo/detail/depth_mixture.h"
#include "tessera/simd/threads.h"

namespace tessera::memo {

namespace {

constexpr double kNegligible = 30;  // nats below the largest

/// The sums [V] over the windows.
std::vector<float> sums_of(const WindowScores& scores) {
  std::vector<float> sums(scores.vocabulary(), 0.0f);
  for (int64_t k = 0; k < scores.windows(); ++k) {
    const float* window = scores.window(k).data();
    for (size_t y = 0; y < sums.size(); ++y) sums[y] += window[y];
  }
  return sums;
}

/// by_score() from sums [V], each token's sum of scores over windows of these lengths;
/// window_scores stays empty.
NextToken by_sum(std::span<const float> sums, std::span<const int64_t> lengths, double noise) {
  const auto V = static_cast<double>(sums.size()), k = static_cast<double>(lengths.size());
  float best = sums[0];
#pragma omp simd reduction(max : best)
  for (size_t y = 0; y < sums.size(); ++y) best = std::max(best, sums[y]);
  NextToken next;
  next.token = static_cast<int32_t>(std::ranges::find(sums, best) - sums.begin());
  next.score = best;
  next.recalled = next.score > noise * std::sqrt(2 * k * std::log(V));
  if (next.recalled) next.matched_length = lengths.back();
  next.evidence = kLogZero;
  next.probability = 1 / V;
  if (noise == 0 || k == 0) return next;
  const double variance = noise * noise, ratio = (next.score - k / 2) / variance;
  double total = 0;  // of all tokens' likelihoods, that of the best being 1
  const auto least = static_cast<float>(next.score - kNegligible * variance);
  for (const float sum : sums)
    if (sum > least) total += std::exp((sum - next.score) / variance);
  next.evidence = ratio + std::log(total / V);
  next.probability = std::exp(log_one_plus_exp(ratio) - log_one_plus_exp(next.evidence)) / V;
  return next;
}

}  // namespace

NextToken by_score(const WindowScores& scores, double noise) {
  NextToken next = by_sum(sums_of(scores), scores.lengths(), noise);
  next.window_scores = scores.of_token(next.token);
  return next;
}

namespace {

constexpr size_t kContexts = 256;        // contexts in one product with C
constexpr size_t kWindowTokens = 16384;  // tokens of their longest windows, together
constexpr size_t kScored = 32;           // contexts whose scores are held at once

void check_token(int32_t token, int64_t vocabulary) {
  check_argument(token >= 0 && token < vocabulary,
                 "text reader: token {}, expected 0 to {} (vocabulary {})", token, vocabulary - 1,
                 vocabulary);
}

std::vector<float> retrieve(const ReadableMemory& memory, const WindowQueries& queries) {
  std::vector<float> retrieved = memory.retrieve(queries);
  queries.unbind(retrieved);
  return retrieved;
}

/// The window lengths that a context of `tokens` tokens can fill.
std::span<const int64_t> lengths_within(const ReadableMemory& memory, size_t tokens) {
  const auto lengths = memory.window_lengths();
  return {lengths.begin(), std::ranges::upper_bound(lengths, static_cast<int64_t>(tokens))};
}

/// How noisy the scores of a window are. value [d]: what was retrieved for it.
double noise_of(const ReadableMemory& memory, const WindowQueries& queries, size_t query,
                std::span<const float> value) {
  const double noise = memory.code().noise(value);
  return memory.config().shards > 1 ? std::max(noise, memory.noise(queries.shards[query])) : noise;
}

/// Scores some contexts, for whose windows there is room. queries: their windows are those from
/// `query` on; values [n, d]: what was retrieved for all of them. Returns the query after theirs.
size_t score_contexts(const ReadableMemory& memory, const WindowQueries& queries, size_t query,
                      std::span<const float> values, std::span<WindowScores> contexts) {
  const size_t d = memory.config().dimension;
  std::vector<float*> rows;
  for (WindowScores& scores : contexts)
    for (int64_t k = 0; k < scores.windows(); ++k) rows.push_back(scores.window(k).data());
  memory.code().score(values.subspan(query * d, rows.size() * d), rows);
  for (WindowScores& scores : contexts)
    for (int64_t k = 0; k < scores.windows(); ++k, ++query)
      scores.set_noise(k, noise_of(memory, queries, query, values.subspan(query * d, d)));
  return query;
}

void check_contexts(const ReadableMemory& memory,
                    std::span<const std::span<const int32_t>> contexts) {
  for (const auto& context : contexts)
    for (const int32_t token : context) check_token(token, memory.config().vocabulary);
}

/// Contexts from `first` on with their windows, and the values [windows, d] retrieved for these.
struct Batch {
  size_t first;
  std::span<const std::span<const int32_t>> contexts;
  WindowQueries queries;
  std::vector<float> values;
};

/// Reads contexts in batches of at most kWindowTokens tokens each: body(batch).
template <typename Body>
void for_batches(const ReadableMemory& memory, std::span<const std::span<const int32_t>> contexts,
                 const Body& body) {
  check_contexts(memory, contexts);
  const size_t longest = memory.window_lengths().back();
  const size_t size = std::clamp<size_t>(kWindowTokens / longest, 1, kContexts);
  for (size_t first = 0; first < contexts.size(); first += size) {
    const auto some = contexts.subspan(first, std::min(size, contexts.size() - first));
    Batch batch = {first, some, memory.code().queries(some), {}};
    batch.values = retrieve(memory, batch.queries);
    body(batch);
  }
}

void visit_batch(const ReadableMemory& memory, const Batch& batch, std::span<WindowScores> scores,
                 const ScoresVisitor& visit) {
  const auto& [first, contexts, queries, values] = batch;
  size_t query = 0;
  for (size_t begin = 0; begin < contexts.size(); begin += scores.size()) {
    const auto some = scores.first(std::min(scores.size(), contexts.size() - begin));
    for (size_t c = 0; c < some.size(); ++c)
      some[c].reset(lengths_within(memory, contexts[begin + c].size()), memory.config().vocabulary);
    query = score_contexts(memory, queries, query, values, some);
    for (size_t c = 0; c < some.size(); ++c) visit(first + begin + c, some[c]);
  }
}

/// The values [windows, d] that were retrieved for the windows of one context.
struct Retrieved {
  std::span<const int64_t> lengths;
  std::span<const float> values;
};

std::vector<Retrieved> by_context(const ReadableMemory& memory,
                                  std::span<const std::span<const int32_t>> contexts,
                                  std::span<const float> values) {
  std::vector<Retrieved> split;
  for (const auto& context : contexts) {
    const auto lengths = lengths_within(memory, context.size());
    const size_t size = lengths.size() * memory.config().dimension;
    split.push_back({lengths, values.first(size)});
    values = values.subspan(size);
  }
  return split;
}

/// The sum of each context's rows: [contexts, d].
std::vector<float> sums_of_windows(std::span<const Retrieved> contexts, size_t d) {
  std::vector<float> sums(contexts.size() * d, 0.0f);
  for (size_t c = 0; c < contexts.size(); ++c)
    for (size_t i = 0; i < contexts[c].values.size(); ++i)
      sums[c * d + i % d] += contexts[c].values[i];
  return sums;
}

/// by_sum() of each context, with one product with the vocabulary for all of them.
void recall_by_sums(const ReadableMemory& memory, std::span<const Retrieved> contexts, double noise,
                    std::vector<NextToken>& recalled) {
  const size_t d = memory.config().dimension;
  const size_t V = memory.config().vocabulary;
  std::vector<float> scores(contexts.size() * V);
  std::vector<float*> rows;
  for (size_t c = 0; c < contexts.size(); ++c) rows.push_back(&scores[c * V]);
  memory.code().score(sums_of_windows(contexts, d), rows);
  const size_t first = recalled.size();
  recalled.resize(first + contexts.size());
  const bool shared = contexts.size() > 1 && std::ssize(scores) >= simd::kWorthThreads;
#pragma omp parallel for schedule(static) if (shared)
  for (size_t c = 0; c < contexts.size(); ++c) {
    const auto& [lengths, values] = contexts[c];
    NextToken& next = recalled[first + c] = by_sum({rows[c], V}, lengths, noise);
    for (size_t k = 0; k < lengths.size(); ++k)
      next.window_scores.push_back(memory.code().score(values.subspan(k * d, d), next.token));
  }
}

void recall_batch(const ReadableMemory& memory, const Batch& batch, double noise,
                  std::vector<NextToken>& recalled) {
  const auto retrieved = by_context(memory, batch.contexts, batch.values);
  for (size_t begin = 0; begin < retrieved.size(); begin += kScored)
    recall_by_sums(memory,
                   std::span(retrieved).subspan(begin, std::min(kScored, retrieved.size() - begin)),
                   noise, recalled);
}

}  // namespace

TextReader::TextReader(const ReadableMemory& memory)
    : memory_(&memory), stream_(memory.code().stream()) {
  scores_.reset({}, memory.config().vocabulary);
}

void TextReader::append(int32_t token) {
  check_token(token, memory_->config().vocabulary);
  stream_->append(token);
  ++read_;
}

const WindowScores& TextReader::scores() {
  const WindowQueries queries = stream_->queries();
  const std::vector<float> retrieved = retrieve(*memory_, queries);
  scores_.reset(lengths_within(*memory_, read_), memory_->config().vocabulary);
  score_contexts(*memory_, queries, 0, retrieved, {&scores_, 1});
  return scores_;
}

NextToken TextReader::recall(double noise) const {
  const std::vector<float> values = retrieve(*memory_, stream_->queries());
  const Retrieved retrieved = {lengths_within(*memory_, read_), values};
  std::vector<NextToken> recalled;
  recall_by_sums(*memory_, {&retrieved, 1}, noise, recalled);
  return recalled.front();
}

void read_contexts(const ReadableMemory& memory, std::span<const std::span<const int32_t>> contexts,
                   const ScoresVisitor& visit) {
  std::vector<WindowScores> scores(std::min(kScored, contexts.size()));
  for_batches(memory, contexts,
              [&](const Batch& batch) { visit_batch(memory, batch, scores, visit); });
}

std::vector<WindowScores> read_contexts(const ReadableMemory& memory,
                                        std::span<const std::span<const int32_t>> contexts) {
  std::vector<WindowScores> all;
  all.reserve(contexts.size());
  read_contexts(memory, contexts,
                [&](size_t, const WindowScores& scores) { all.push_back(scores); });
  return all;
}

std::vector<NextToken> recall_contexts(const ReadableMemory& memory,
                                       std::span<const std::span<const int32_t>> contexts,
                                       const ScoresVisitor& visit) {
  const double noise = memory.noise();
  std::vector<WindowScores> scores(visit ? std::min(kScored, contexts.size()) : 0);
  std::vector<NextToken> recalled;
  for_batches(memory, contexts, [&](const Batch& batch) {
    recall_batch(memory, batch, noise, recalled);
    if (visit) visit_batch(memory, batch, scores, visit);
  });
  return recalled;
}

}  // namespace tessera::memo
