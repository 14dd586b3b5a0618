#include "tessera/memo/text_memory_config.h"

#include "tessera/base/error.h"

namespace tessera::memo {
namespace {

constexpr int64_t kMostDimension = 65536;
constexpr int64_t kLongestWindow = int64_t{1} << 16;  // tokens
constexpr int32_t kMostPaperHeads = 128;              // more would overflow a product of parts
constexpr int64_t kMostVocabulary = int64_t{1} << 24;

/// How many times longer each window is than the one before.
int64_t growth(const TextMemoryConfig& config) {
  return config.code == WindowCodeKind::kPaper ? config.heads : 2;
}

}  // namespace

std::vector<int64_t> window_lengths(const TextMemoryConfig& config) {
  std::vector<int64_t> lengths = {config.heads};
  while (lengths.size() < static_cast<size_t>(config.layers))
    lengths.push_back(lengths.back() * growth(config));
  return lengths;
}

void check_config(const TextMemoryConfig& config) {
  check_argument(
      config.dimension >= 64 && config.dimension <= kMostDimension && config.dimension % 64 == 0,
      "text memory: dimension is {}, expected a multiple of 64 up to {}", config.dimension,
      kMostDimension);
  check_argument(config.vocabulary >= 2 && config.vocabulary <= kMostVocabulary,
                 "text memory: vocabulary is {}, expected 2 to {} tokens", config.vocabulary,
                 kMostVocabulary);
  check_argument(config.heads >= 2, "text memory: heads is {}, expected at least 2", config.heads);
  check_argument(config.layers >= 1, "text memory: layers is {}, expected at least 1",
                 config.layers);
  check_argument(config.shards >= 1 && config.shards <= kMostShards,
                 "text memory: shards is {}, expected 1 to {}", config.shards, kMostShards);
  int64_t longest = config.heads;
  for (int32_t k = 1; k < config.layers && longest <= kLongestWindow; ++k)
    longest *= growth(config);
  check_argument(longest <= kLongestWindow,
                 "text memory: {} layers of {} heads make windows of more than {} tokens; expected "
                 "fewer layers or heads",
                 config.layers, config.heads, kLongestWindow);
  if (config.code != WindowCodeKind::kPaper) return;
  check_argument(config.shards == 1,
                 "text memory: shards is {}; under the paper code windows that share parts must be "
                 "in one matrix, expected 1",
                 config.shards);
  check_argument(config.heads <= kMostPaperHeads,
                 "text memory: heads is {}, expected at most {} for the paper code", config.heads,
                 kMostPaperHeads);
  check_argument(config.dimension % config.heads == 0,
                 "text memory: {} heads do not divide dimension {}, as the paper code needs",
                 config.heads, config.dimension);
}

}  // namespace tessera::memo
