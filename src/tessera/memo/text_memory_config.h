#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::memo {

/// How windows and tokens become keys and values.
/// kBound: every window has its own random key and mask, and the value is bound by the mask
/// (BoundCode). Holds the most and distinguishes the order of tokens, but sees no similarity
/// between windows. kPaper: as in the authors' code, a key is composed of its tokens (PaperCode); a
/// window that shares j of h parts with a stored one scores about j / h.
enum class WindowCodeKind { kBound, kPaper };
constexpr std::array<std::string_view, 2> enum_names(WindowCodeKind) {
  return {"bound", "paper"};
}

constexpr int32_t kMostShards = 4096;  ///< matrices of a memory

/// What a memory of texts is made with; memories of equal configuration can be merged.
struct TextMemoryConfig {
  WindowCodeKind code = WindowCodeKind::kBound;
  int64_t dimension = 1024;
  int32_t heads = 4;
  int32_t layers = 3;
  int32_t shards = 1;
  int64_t vocabulary = 0;
  uint64_t seed = 0;

  bool operator==(const TextMemoryConfig&) const = default;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("code", code, "how windows become keys");
    field("dimension", dimension, "d, the width of keys and values; a multiple of 64");
    field("heads", heads, "h, tokens of the shortest window");
    field("layers", layers, "l, the number of window lengths");
    field("shards", shards, "S, the number of matrices; a hash of the window chooses one");
    field("vocabulary", vocabulary, "V, the number of different tokens");
    field("seed", seed, "seed of the random codes of tokens and windows");
  }
};

/// The lengths of the l windows, in tokens, ascending. The paper's code composes a window of h
/// shorter ones, so they are h^k long. The bound code is free to choose: h, 2 h, ..., 2^(l - 1) h,
/// so that a context soon fills all windows (with h = 4 and l = 3 after 16 tokens, not 64).
std::vector<int64_t> window_lengths(const TextMemoryConfig& config);

/// Throws UsageError that names the field, its value and the values allowed.
void check_config(const TextMemoryConfig& config);

}  // namespace tessera::memo
