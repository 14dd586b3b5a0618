#include "tessera/memo/text_plan.h"

#include "tessera/memo/bound_window_predictor.h"
#include "tessera/memo/window_error_predictor.h"

namespace tessera::memo {
namespace {

constexpr int64_t kProbes = 2000;

BoundWindowPredictor bound_windows(const std::vector<std::vector<int32_t>>& documents,
                                   const TextMemoryConfig& config, uint64_t seed) {
  return {documents, window_lengths(config), config.vocabulary, kProbes, seed};
}

WindowErrorPredictor windows(std::span<const int32_t> tokens, const TextMemoryConfig& config,
                             WindowMemory::Keys keys, uint64_t seed) {
  const WindowMemory memory{.heads = config.heads,
                            .layers = config.layers,
                            .vocabulary = config.vocabulary,
                            .keys = keys};
  return {tokens, memory, kProbes, seed};
}

std::vector<int32_t> joined(const std::vector<std::vector<int32_t>>& documents) {
  std::vector<int32_t> all;
  for (const auto& document : documents) all.insert(all.end(), document.begin(), document.end());
  return all;
}

}  // namespace

std::vector<TextPlan> plan_text(const std::vector<std::vector<int32_t>>& documents,
                                const TextMemoryConfig& config, uint64_t seed,
                                const SizeChoice& choose) {
  using Keys = WindowMemory::Keys;
  const std::vector<int32_t> tokens = joined(documents);
  TextMemoryConfig bound = config;
  bound.code = WindowCodeKind::kBound;
  return {{"keys that share parts (as in the paper)",
           choose(windows(tokens, config, Keys::kSharedSlots, seed))},
          {"an independent key per window",
           choose(windows(tokens, config, Keys::kHashedWindows, seed))},
          {"bound windows, each pair written once", choose(bound_windows(documents, bound, seed))}};
}

SizePlan plan_memory(const std::vector<std::vector<int32_t>>& documents,
                     const TextMemoryConfig& config, uint64_t seed, const SizeChoice& choose) {
  if (config.code == WindowCodeKind::kBound) return choose(bound_windows(documents, config, seed));
  return choose(windows(joined(documents), config, WindowMemory::Keys::kSharedSlots, seed));
}

}  // namespace tessera::memo
