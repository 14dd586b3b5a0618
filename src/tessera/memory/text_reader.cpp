#include "tessera/memory/text_reader.h"

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr size_t kContexts = 256;        // whose keys meet C in one product
constexpr size_t kWindowTokens = 16384;  // of them together
constexpr size_t kScored = 32;           // of them, whose scores are held at once

void check_token(int32_t token, int64_t vocabulary) {
  check_argument(token >= 0 && token < vocabulary,
                 "text reader: token {}, expected 0 to {} (vocabulary {})", token, vocabulary - 1,
                 vocabulary);
}

std::vector<float> retrieve(const TextMemory& memory, const WindowQueries& queries) {
  std::vector<float> retrieved(queries.keys.size());  // C is square
  memory.matrix().retrieve(queries.keys, retrieved);
  queries.unbind(retrieved);
  return retrieved;
}

/// The window lengths that a context of `tokens` tokens is long enough for.
std::span<const int64_t> lengths_within(const TextMemory& memory, size_t tokens) {
  const auto lengths = memory.window_lengths();
  return {lengths.begin(), std::ranges::upper_bound(lengths, static_cast<int64_t>(tokens))};
}

void append_rows(WindowScores& scores, std::vector<float*>& rows) {
  for (int64_t k = 0; k < scores.windows(); ++k) rows.push_back(scores.window(k).data());
}

void read_batch(const TextMemory& memory, std::span<const std::span<const int32_t>> contexts,
                std::span<WindowScores> scores, size_t first, const ScoresVisitor& visit) {
  const std::vector<float> retrieved = retrieve(memory, memory.code().queries(contexts));
  const auto d = static_cast<size_t>(memory.config().dimension);
  size_t query = 0;
  for (size_t begin = 0; begin < contexts.size(); begin += scores.size()) {
    const size_t count = std::min(scores.size(), contexts.size() - begin);
    std::vector<float*> rows;
    for (size_t c = 0; c < count; ++c) {
      scores[c].reset(lengths_within(memory, contexts[begin + c].size()),
                      memory.config().vocabulary);
      append_rows(scores[c], rows);
    }
    memory.code().score(std::span(retrieved).subspan(query * d, rows.size() * d), rows);
    query += rows.size();
    for (size_t c = 0; c < count; ++c) visit(first + begin + c, scores[c]);
  }
}

}  // namespace

TextReader::TextReader(const TextMemory& memory)
    : memory_(&memory), stream_(memory.code().stream()) {
  scores_.reset({}, memory.config().vocabulary);
}

void TextReader::append(int32_t token) {
  check_token(token, memory_->config().vocabulary);
  stream_->append(token);
  ++read_;
}

const WindowScores& TextReader::scores() {
  const std::vector<float> retrieved = retrieve(*memory_, stream_->queries());
  scores_.reset(lengths_within(*memory_, read_), memory_->config().vocabulary);
  std::vector<float*> rows;
  append_rows(scores_, rows);
  memory_->code().score(retrieved, rows);
  return scores_;
}

void read_contexts(const TextMemory& memory, std::span<const std::span<const int32_t>> contexts,
                   const ScoresVisitor& visit) {
  for (const auto& context : contexts)
    for (const int32_t token : context) check_token(token, memory.config().vocabulary);
  const auto longest = static_cast<size_t>(memory.window_lengths().back());
  const size_t batch = std::clamp<size_t>(kWindowTokens / longest, 1, kContexts);
  std::vector<WindowScores> scores(std::min({kScored, batch, contexts.size()}));
  for (size_t first = 0; first < contexts.size(); first += batch)
    read_batch(memory, contexts.subspan(first, std::min(batch, contexts.size() - first)), scores,
               first, visit);
}

std::vector<WindowScores> read_contexts(const TextMemory& memory,
                                        std::span<const std::span<const int32_t>> contexts) {
  std::vector<WindowScores> all;
  all.reserve(contexts.size());
  read_contexts(memory, contexts,
                [&](size_t, const WindowScores& scores) { all.push_back(scores); });
  return all;
}

}  // namespace tessera
