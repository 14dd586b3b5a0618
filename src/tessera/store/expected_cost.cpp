#include "tessera/store/expected_cost.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "tessera/memo/text_memory.h"
#include "tessera/store/detail/token_pieces.h"

namespace tessera::store {
namespace {

constexpr double kMostProbed = 512;    // tokens
constexpr double kIndexedText = 1.65;  // bytes of text and full-text index for each byte of text
constexpr double kProgram = 1e8;       // bytes of the program itself

/// Of a matrix's file, as far as the pairs in it are random signs: their sums are normal numbers,
/// all even or all odd.
double packed_bytes(double dimension, double pairs) {
  if (pairs == 0) return 0;
  const double numbers = dimension * dimension;
  const double largest = std::sqrt(pairs * 2 * std::log(numbers));
  const memo::Packing packing = {0, std::lround(2 * largest), 2};
  return numbers * packing.width() / 8;
}

double tokens_in_all(const std::vector<std::vector<int32_t>>& documents) {
  double tokens = 0;
  for (const auto& document : documents) tokens += static_cast<double>(document.size());
  return tokens;
}

/// For each pair: of forgetting, which costs as much as storing, in a matrix whose pages are there.
double seconds_of_pair(memo::TextMemoryConfig config, std::span<const int32_t> text, size_t most) {
  config.shards = 1;
  const auto probe = text.first(std::min(text.size(), most));
  memo::TextMemory memory(config);
  const int64_t pairs = memory.memorize(memo::one_piece(probe));
  const auto started = std::chrono::steady_clock::now();
  memory.forget(memo::one_piece(probe));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  return pairs > 0 ? seconds.count() / static_cast<double>(pairs) : 0;
}

}  // namespace

size_t probed_tokens(const memo::TextMemoryConfig& config,
                     const std::vector<std::vector<int32_t>>& documents) {
  const double share =
      tokens_in_all(documents) / static_cast<double>(documents.size()) / config.shards;
  const double one_pair = memo::window_lengths(config).front() + 1;
  return static_cast<size_t>(std::clamp(share, one_pair, std::max(one_pair, kMostProbed)));
}

ExpectedCost expected_cost(const memo::TextMemoryConfig& config,
                           const std::vector<std::vector<int32_t>>& documents, int64_t pairs,
                           int64_t text_bytes) {
  const auto longest = std::ranges::max_element(documents, {}, &std::vector<int32_t>::size);
  if (longest == documents.end()) return {};
  const double tokens = tokens_in_all(documents);
  const double d = config.dimension;
  const double shards = config.shards;
  const double matrices = shards * d * d * sizeof(int32_t);
  const double packed = shards * packed_bytes(d, static_cast<double>(pairs) / shards);
  const double index_bytes = kIndexedText * static_cast<double>(text_bytes);
  const double token_bytes = token_width(config.vocabulary);
  const double longest_pairs = static_cast<double>(longest->size()) * config.layers;
  const double seconds = seconds_of_pair(config, *longest, probed_tokens(config, documents));
  return {.seconds = seconds * static_cast<double>(pairs),
          .memory_bytes = matrices + memo::WindowPairs::kMostBytes * longest_pairs + kProgram,
          .disk_bytes = packed + tokens * token_bytes + index_bytes,
          .index_bytes = index_bytes};
}

}  // namespace tessera::store
