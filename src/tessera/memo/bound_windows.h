#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tessera/memo/likelihood_recall.h"

namespace tessera::theory {

/// Predicts how often the next token is recalled wrongly, over the stored documents themselves, by
/// a correlation memory of bound windows (memory/bound_code.h): a key of signs for each window, the
/// value bound to it, each (window, next token) written once a document, and decoded by likelihood
/// ratio. It knows which windows go on differently elsewhere, which pairs several documents hold,
/// and the noise; what is measured differs from it by a tenth of the error or so.
class BoundWindowPredictor {
 public:
  /// Indexes the documents' tokens and picks at most `probes` places by `seed`. window_lengths: in
  /// tokens, ascending. Throws std::invalid_argument on other lengths, a token outside the
  /// vocabulary, and where no document is longer than the shortest window.
  BoundWindowPredictor(const std::vector<std::vector<int32_t>>& documents,
                       std::vector<int64_t> window_lengths, int64_t vocabulary, int64_t probes,
                       uint64_t seed);

  int64_t associations() const { return associations_; }  // pairs written
  int64_t probes() const { return static_cast<int64_t>(probes_.size()); }

  /// Error and its standard error over the probes, in dimension d >= 2.
  std::pair<double, double> error(int64_t dimension) const;

  /// The error that remains in any dimension: probes whose longest window goes on differently at
  /// least as often.
  double floor() const;

  /// The smallest multiple of `step` whose error, its standard error added, is at most `error`; 0
  /// where even 10^6 dimensions do not do.
  int64_t smallest_dimension(double error, int64_t step) const;

 private:
  using Documents = std::vector<std::vector<int32_t>>;
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
  /// The tokens that were stored with the windows before a place, the right one first.
  using Probe = std::vector<LikelihoodRecall::Stored>;

  void check(const Documents& documents, int64_t vocabulary) const;
  std::vector<Pair> index_pairs(const Documents& documents, int64_t length) const;
  void count_pairs(const std::vector<Pair>& pairs);
  std::vector<Place> choose_places(const Documents& documents, int64_t probes, uint64_t seed) const;
  Probe make_probe(std::span<const int32_t> document, int64_t position,
                   const std::vector<std::vector<Pair>>& index) const;

  std::vector<int64_t> window_lengths_;
  uint64_t seed_;
  int64_t associations_ = 0;
  double energy_ = 0;  // the sum of squares of how many documents hold a pair
  LikelihoodRecall by_likelihood_;
  std::vector<Probe> probes_;
};

}  // namespace tessera::theory
