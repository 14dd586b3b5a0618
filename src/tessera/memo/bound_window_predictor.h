#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/memo/detail/likelihood_recall.h"
#include "tessera/memo/recall_predictor.h"

namespace tessera::memo {

/// Predicts the recall of a correlation memory of bound windows (BoundCode), decoded by likelihood
/// ratio, where each (window, next token) is written once for each document. It knows which windows
/// are followed by other tokens elsewhere, which pairs several documents hold, and the noise, also
/// that which the tokens stored with one window are to each other (BoundCode::noise()): in
/// repetitive text a window of four tokens may be followed by hundreds of different ones. In a
/// memory of several shards each window has the noise of its shard.
class BoundWindowPredictor final : public RecallPredictor {
 public:
  /// Indexes the documents' tokens and picks at most `probes` positions by `seed`. config: its
  /// heads, layers, shards and vocabulary are read. Throws as RecallPredictor does.
  BoundWindowPredictor(const Documents& documents, const TextMemoryConfig& config, int64_t probes,
                       uint64_t seed);

  int64_t associations() const override { return associations_; }
  int64_t probes() const override { return std::ssize(probes_); }
  Spread error(int64_t dimension) const override;
  /// Counts the probes whose longest window is followed by another token at least as often.
  double floor() const override;

 private:
  /// A pair as one document writes it.
  struct Pair {
    uint64_t window;  // its hash
    int32_t token, document;
    auto operator<=>(const Pair&) const = default;  // NOLINT(modernize-use-nullptr): no pointer
  };
  struct Place {
    size_t document;
    int64_t position;
  };
  struct Probe {
    /// The tokens that were stored with the windows before a position, the right one first.
    std::vector<LikelihoodRecall::Stored> stored;
    std::vector<size_t> shards;  // of the windows, shortest first
  };

  std::vector<Pair> index_pairs(const Documents& documents, int64_t length) const;
  void count_pairs(const std::vector<Pair>& pairs);
  std::vector<Place> choose_places(const Documents& documents, int64_t probes) const;
  Probe make_probe(std::span<const int32_t> document, int64_t position,
                   const std::vector<std::vector<Pair>>& index) const;

  size_t shard_of_window(uint64_t window) const;
  std::vector<double> noise_of(const Probe& probe, int64_t dimension) const;

  std::vector<int64_t> window_lengths_;
  int64_t vocabulary_;
  uint64_t seed_;
  int64_t associations_ = 0;
  /// [S]: over the pairs of a shard, the sum of squares of how many documents hold a pair.
  std::vector<double> energies_;
  double mean_energy_ = 0;
  LikelihoodRecall by_likelihood_;
  std::vector<Probe> probes_;
};

}  // namespace tessera::memo
