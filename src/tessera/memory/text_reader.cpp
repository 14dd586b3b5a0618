#include "tessera/memory/text_reader.h"

#include "tessera/base/error.h"

namespace tessera {
namespace {

WindowScores read(const TextMemory& memory, std::span<const int32_t> context) {
  const int64_t d = memory.config().dimension, V = memory.config().vocabulary;
  const WindowQueries queries = memory.code().queries(context);
  std::vector<float> retrieved(static_cast<size_t>(queries.count * d));
  memory.matrix().retrieve(queries.keys, retrieved);
  std::vector<float> scores(static_cast<size_t>(queries.count * V));
  memory.code().score(queries, retrieved, scores);
  const auto lengths = memory.window_lengths().first(static_cast<size_t>(queries.count));
  return {{lengths.begin(), lengths.end()}, V, std::move(scores)};
}

void check_token(int32_t token, int64_t vocabulary) {
  check_argument(token >= 0 && token < vocabulary,
                 "text reader: token {}, expected 0 to {} (vocabulary {})", token, vocabulary - 1,
                 vocabulary);
}

}  // namespace

TextReader::TextReader(const TextMemory& memory) : memory_(&memory) {}

void TextReader::append(int32_t token) {
  check_token(token, memory_->config().vocabulary);
  const auto longest = static_cast<size_t>(memory_->window_lengths().back());
  if (context_.size() == 2 * longest)
    context_.erase(context_.begin(), context_.end() - static_cast<int64_t>(longest));
  context_.push_back(token);
}

WindowScores TextReader::scores() {
  return read(*memory_, context_);
}

std::vector<WindowScores> read_contexts(const TextMemory& memory,
                                        std::span<const std::span<const int32_t>> contexts) {
  for (const auto& context : contexts)
    for (const int32_t token : context) check_token(token, memory.config().vocabulary);
  std::vector<WindowScores> all;
  for (const auto& context : contexts) all.push_back(read(memory, context));
  return all;
}

}  // namespace tessera
