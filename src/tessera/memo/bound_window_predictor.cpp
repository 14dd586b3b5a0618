#include "tessera/memo/bound_window_predictor.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tessera/base/error.h"
#include "tessera/memo/detail/bound_code.h"
#include "tessera/memo/detail/window_hash.h"
#include "tessera/plan/parallel.h"

namespace tessera::memo {
namespace {

/// How often each token occurs, plus 1.
std::vector<double> prior_of(const RecallPredictor::Documents& documents, int64_t vocabulary) {
  std::vector<double> prior(vocabulary, 1.0);
  for (const auto& document : documents)
    for (const int32_t token : document) prior[token] += 1;
  return prior;
}

std::span<const int32_t> window_before(std::span<const int32_t> document, int64_t position,
                                       int64_t length) {
  return document.subspan(position - length, length);
}

}  // namespace

BoundWindowPredictor::BoundWindowPredictor(const Documents& documents,
                                           const TextMemoryConfig& config, int64_t probes,
                                           uint64_t seed)
    : RecallPredictor(documents, config),
      window_lengths_(window_lengths(config)),
      vocabulary_(config.vocabulary),
      seed_(seed),
      energies_(config.shards),
      by_likelihood_(prior_of(documents, config.vocabulary)) {
  const auto index = theory::parallel_runs(std::ssize(window_lengths_), [&](int64_t k) {
    return index_pairs(documents, window_lengths_[k]);
  });
  for (const auto& pairs : index) count_pairs(pairs);
  for (const double energy : energies_) mean_energy_ += energy / config.shards;
  const auto places = choose_places(documents, probes);
  probes_ = theory::parallel_runs(std::ssize(places), [&](int64_t probe) {
    const Place& place = places[probe];
    return make_probe(documents[place.document], place.position, index);
  });
}

/// Each pair of each document once, sorted.
std::vector<BoundWindowPredictor::Pair> BoundWindowPredictor::index_pairs(
    const Documents& documents, int64_t length) const {
  std::vector<Pair> pairs;
  for (size_t n = 0; n < documents.size(); ++n)
    for (auto i = length; i < std::ssize(documents[n]); ++i)
      pairs.push_back({hash_tokens(window_before(documents[n], i, length)), documents[n][i],
                       static_cast<int32_t>(n)});
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

size_t BoundWindowPredictor::shard_of_window(uint64_t window) const {
  return shard_of(window, static_cast<int32_t>(energies_.size()));
}

void BoundWindowPredictor::count_pairs(const std::vector<Pair>& pairs) {
  associations_ += std::ssize(pairs);
  for (auto first = pairs.begin(); first != pairs.end();) {
    const auto last = std::find_if(first, pairs.end(), [&](const Pair& pair) {
      return pair.window != first->window || pair.token != first->token;
    });
    const double documents = last - first;
    energies_[shard_of_window(first->window)] += documents * documents;
    first = last;
  }
}

std::vector<BoundWindowPredictor::Place> BoundWindowPredictor::choose_places(
    const Documents& documents, int64_t probes) const {
  const int64_t shortest = window_lengths_.front();
  std::vector<int64_t> ends;  // running count of the positions at the end of each document
  int64_t places = 0;
  for (const auto& document : documents)
    ends.push_back(places += std::max<int64_t>(0, std::ssize(document) - shortest));
  std::vector<Place> chosen;
  for (const int64_t place : choose(places, probes, seed_)) {
    const size_t document = std::ranges::upper_bound(ends, place) - ends.begin();
    const int64_t from_end = ends[document] - place;
    chosen.push_back({document, std::ssize(documents[document]) - from_end});
  }
  return chosen;
}

BoundWindowPredictor::Probe BoundWindowPredictor::make_probe(
    std::span<const int32_t> document, int64_t position,
    const std::vector<std::vector<Pair>>& index) const {
  const size_t windows =
      std::ranges::upper_bound(window_lengths_, position) - window_lengths_.begin();
  Probe probe;
  std::map<int32_t, std::vector<float>> scores;
  for (size_t k = 0; k < windows; ++k) {
    const uint64_t window = hash_tokens(window_before(document, position, window_lengths_[k]));
    probe.shards.push_back(shard_of_window(window));
    for (auto pair = std::ranges::lower_bound(index[k], window, {}, &Pair::window);
         pair != index[k].end() && pair->window == window; ++pair)
      scores.try_emplace(pair->token, windows, 0.0f).first->second[k] += 1;
  }
  const int32_t right = document[position];
  probe.stored.push_back({right, scores[right]});
  for (const auto& [token, of_windows] : scores)
    if (token != right) probe.stored.push_back({token, of_windows});
  return probe;
}

/// Of each of the probe's windows.
std::vector<double> BoundWindowPredictor::noise_of(const Probe& probe, int64_t dimension) const {
  const double d = dimension;
  const double share = BoundCode::crosstalk_share(dimension, vocabulary_);
  std::vector<double> noise;
  for (size_t k = 0; k < probe.shards.size(); ++k) {
    // A product of two keys and one of two values are each of variance 1 / d. The decoder takes no
    // shard to be less noisy than the mean.
    double variance = std::max(mean_energy_, energies_[probe.shards[k]]) / (d * d);
    for (const auto& stored : probe.stored)
      variance += share * stored.scores[k] * stored.scores[k] / d;
    noise.push_back(std::sqrt(variance));
  }
  return noise;
}

Spread BoundWindowPredictor::error(int64_t dimension) const {
  check_argument(dimension >= 2, "BoundWindowPredictor: dimension {}; at least 2 is needed",
                 dimension);
  return spread_of(theory::parallel_runs(probes(), [&](int64_t number) {
    const Probe& probe = probes_[number];
    return 1 - by_likelihood_.recall(probe.stored, noise_of(probe, dimension),
                                     RandomStream(seed_, number));
  }));
}

double BoundWindowPredictor::floor() const {
  double lost = 0;
  for (const Probe& probe : probes_) {
    const float right = probe.stored.front().scores.back();
    const auto count = [&](auto&& is_so) {
      return static_cast<double>(std::ranges::count_if(
          probe.stored, [&](const auto& stored) { return is_so(stored.scores.back()); }));
    };
    // A tie is decided by noise.
    const double ties = count([&](float score) { return score == right; });
    lost += count([&](float score) { return score > right; }) > 0 ? 1 : 1 - 1 / ties;
  }
  return lost / static_cast<double>(probes_.size());
}

}  // namespace tessera::memo
