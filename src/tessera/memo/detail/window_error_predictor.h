#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/memo/recall_predictor.h"
#include "tessera/plan/error_predictor.h"

namespace tessera::memo {

/// Predicts the recall of a TextMemory under the paper's code (Zanzotto et al. 2025), decoded by
/// score: the key of a window of tokens is stored with the token that follows it, each such pair
/// once for each document; layer k uses windows of heads^k tokens, and all layers share one d x d
/// matrix. A key joins `heads` projected parts, so windows with equal parts interfere.
///
/// Besides the noise, as theory::predicted_error has it, it knows the deterministic interference: a
/// window that shares j of the h parts of the probe adds j / h to the score of its own next token.
/// It leaves out how such overlaps vary, and so predicts too little error: up to an eighth for the
/// texts that were tried, a quarter for one that repeats itself in a memory far too small for it.
class WindowErrorPredictor final : public RecallPredictor {
 public:
  /// Indexes the documents' tokens and picks at most `probes` positions by `seed`. config: its
  /// heads, layers and vocabulary are read. Throws as RecallPredictor does, and UsageError on more
  /// than 2^31 - 1 tokens.
  WindowErrorPredictor(const Documents& documents, const TextMemoryConfig& config, int64_t probes,
                       uint64_t seed);

  int64_t associations() const override { return associations_; }
  int64_t probes() const override { return std::ssize(probes_); }
  Spread error(int64_t dimension) const override;
  /// Counts the probes with a rival of equal or greater interference.
  double floor() const override;

 private:
  struct Rival {
    double interference = 0;  // score it gets for certain
    double energy = 0;
    int32_t group = 0;
  };
  struct Probe {
    double score = 0;   // of the right token: one per layer and what equal parts add
    double layers = 0;  // |key|^2
    Rival right;
    std::vector<Rival> rivals;
  };

  /// For each part of a key, the positions that wrote it, sorted by what it reads.
  using PartIndex = std::vector<std::vector<std::pair<uint64_t, int32_t>>>;

  struct Text;

  void count_energy(const Text& text);
  PartIndex index_parts(const Text& text) const;
  Probe make_probe(const Text& text, int64_t position, const PartIndex& index) const;
  double recall(const Probe& probe, int64_t dimension) const;

  TextMemoryConfig config_;
  int64_t associations_ = 0;
  std::vector<double> energy_of_token_;
  std::vector<int32_t> group_of_token_;
  std::vector<theory::OutputGroup> groups_;
  std::vector<Probe> probes_;
};

}  // namespace tessera::memo
