#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/interrupt.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/recall.h"

namespace tessera::store {

/// What a store's memory knows of a text, asked token by token after the text's own tokens before
/// each (Maini et al. 2024; Shi et al. 2024; definitions as in open-unlearning).
struct TextAudit {
  int64_t tokens = 0;  ///< asked for: those after the shortest window
  /// Exact memorization: the share of them that the memory recalls.
  double recalled = 0;
  /// Extraction strength: 1 - k / n, where from the k-th of the n tokens on all are recalled.
  double extraction = 0;
  double log_likelihood = 0;  ///< mean over them, nats
  double lowest = 0;          ///< min-k: the same over the least probable 20 %, Shi et al. 2024

  enum class Held { kNo, kPartly, kYes };
  /// Yes from 95 % recalled on, no below 5 %.
  Held held() const;
};
constexpr std::array<std::string_view, 3> enum_names(TextAudit::Held) {
  return {"no", "partly", "yes"};
}

/// Throws UsageError on a text that is not longer than the shortest window. on_progress: tokens
/// asked for.
TextAudit audit_text(const MemoStore& store, const StoreReader& reader, std::string_view text,
                     const OnProgress& on_progress = {});

/// The probability that a member's score is above another's, ties counting half: 0.5 where they
/// cannot be told apart, 1 where all can.
double area_under_curve(std::span<const double> members, std::span<const double> others);

/// Exposure of a canary (Carlini et al. 2019), bits: log2(candidates) - log2(rank), where its rank
/// by score, from 1, is among the others and itself.
double exposure(double score, std::span<const double> others);

}  // namespace tessera::store
