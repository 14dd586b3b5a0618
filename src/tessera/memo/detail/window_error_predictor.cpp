#include "tessera/memo/detail/window_error_predictor.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/memo/detail/window_hash.h"
#include "tessera/plan/parallel.h"

namespace tessera::memo {
namespace {

// Windows visited for each shared part; if there are more, a sample.
constexpr int64_t kMostVisits = 8192;

/// Tokens of a layer's windows, heads^layer.
int64_t window_length(const TextMemoryConfig& config, int32_t layer) {
  int64_t tokens = 1;
  while (layer-- > 0) tokens *= config.heads;
  return tokens;
}

/// One comparable part of a layer's key: `length` tokens that start `reach` before the position.
struct Part {
  int64_t reach, length;
  int64_t window;  // of the whole key
};

std::vector<Part> parts_of(const TextMemoryConfig& config, int64_t tokens) {
  std::vector<Part> parts;
  for (int32_t layer = 1; layer <= config.layers; ++layer) {
    const int64_t window = window_length(config, layer), length = window / config.heads;
    if (window >= tokens) break;
    for (int32_t slot = 0; slot < config.heads; ++slot)
      parts.push_back({window - slot * length, length, window});
  }
  return parts;
}

void check_windows(std::span<const int32_t> tokens, const TextMemoryConfig& config) {
  check_argument(
      config.heads >= 1 && config.layers >= 1 && config.layers <= 16,
      "WindowErrorPredictor: {} heads and {} layers; at least 1 of each and at most 16 layers",
      config.heads, config.layers);
  check_argument(config.vocabulary >= 1,
                 "WindowErrorPredictor: vocabulary is {}, expected at least 1", config.vocabulary);
  for (const int32_t token : tokens)
    check_argument(token >= 0 && token < config.vocabulary,
                   "WindowErrorPredictor: token {}, expected less than the vocabulary, {}", token,
                   config.vocabulary);
  check_argument(
      static_cast<int64_t>(tokens.size()) > config.heads,
      "WindowErrorPredictor: {} tokens are too few for a window of {} and its next token",
      tokens.size(), config.heads);
}

}  // namespace

WindowErrorPredictor::WindowErrorPredictor(std::span<const int32_t> tokens,
                                           const TextMemoryConfig& config, int64_t probes,
                                           uint64_t seed)
    : config_(config) {
  check_windows(tokens, config);
  const PartIndex index = index_parts(tokens);
  count_energy(tokens);
  group_of_token_ = theory::group_outputs(energy_of_token_, groups_);
  const auto chosen = choose(std::ssize(tokens) - config.heads, probes, seed);
  probes_ = theory::parallel_runs(std::ssize(chosen), [&](int64_t k) {
    return make_probe(tokens, config.heads + chosen[static_cast<size_t>(k)], index);
  });
}

WindowErrorPredictor::PartIndex WindowErrorPredictor::index_parts(
    std::span<const int32_t> tokens) const {
  const auto n = static_cast<int64_t>(tokens.size());
  const auto parts = parts_of(config_, n);
  return theory::parallel_runs(std::ssize(parts), [&](int64_t k) {
    PartIndex::value_type written;
    for (int64_t i = parts[k].window; i < n; ++i)
      written.emplace_back(hash_tokens(tokens.subspan(i - parts[k].reach, parts[k].length)),
                           static_cast<int32_t>(i));
    std::ranges::sort(written);
    return written;
  });
}

void WindowErrorPredictor::count_energy(std::span<const int32_t> tokens) {
  energy_of_token_.assign(static_cast<size_t>(config_.vocabulary), 0.0);
  const auto n = static_cast<int64_t>(tokens.size());
  for (int32_t layer = 1; layer <= config_.layers; ++layer) {
    const int64_t window = window_length(config_, layer);
    if (window >= n) break;  // the next one might not fit 64 bits
    for (int64_t i = window; i < n; ++i, ++associations_) energy_of_token_[tokens[i]] += 1;
  }
}

WindowErrorPredictor::Probe WindowErrorPredictor::make_probe(std::span<const int32_t> tokens,
                                                             int64_t position,
                                                             const PartIndex& index) const {
  const auto parts = parts_of(config_, static_cast<int64_t>(tokens.size()));
  const double share = 1.0 / config_.heads;  // of a part in its key
  const int32_t right = tokens[position];
  std::map<int32_t, double> interference;
  Probe probe;
  for (size_t k = 0; k < parts.size(); ++k) {
    if (position < parts[k].window) continue;
    probe.layers += share;
    const uint64_t hash = hash_tokens(tokens.subspan(position - parts[k].reach, parts[k].length));
    const auto writers =
        std::ranges::equal_range(index[k], hash, {}, &PartIndex::value_type::value_type::first);
    const int64_t stride = (std::ssize(writers) + kMostVisits - 1) / kMostVisits;
    for (int64_t i = 0; i < std::ssize(writers); i += stride)
      if (const int32_t writer = writers[i].second; writer != position)
        interference[tokens[writer]] += share * static_cast<double>(stride);
  }
  const auto rival = [&](int32_t token, double score) {
    return Rival{score, energy_of_token_[token], group_of_token_[token]};
  };
  probe.score = probe.layers + interference[right];
  probe.right = rival(right, probe.score);
  for (const auto& [token, score] : interference)
    if (token != right) probe.rivals.push_back(rival(token, score));
  return probe;
}

double WindowErrorPredictor::recall(const Probe& probe, int64_t dimension) const {
  constexpr int kLengths = 7, kNoises = 25;
  const auto d = static_cast<double>(dimension);
  // Slots that share one Gaussian projection have key products of variance (1 + 1/h) / d.
  const double spread = 1 + 1.0 / config_.heads;
  const auto total_energy = static_cast<double>(associations_);
  const auto variance = [&](double energy, double a) {
    return spread * a * probe.layers * (energy + (total_energy - energy) / d) / d;
  };
  std::vector<double> others(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) others[g] = groups_[g].outputs;
  others[probe.right.group] -= 1;
  for (const Rival& rival : probe.rivals) others[rival.group] -= 1;

  double recall = 0, weights = 0;
  for (int i = 0; i < kLengths; ++i) {
    const double g = 3.5 * (2.0 * i / (kLengths - 1) - 1);
    const double a = squared_length(d, g);
    const double deviation =
        std::sqrt(variance(std::max(0.0, probe.right.energy - probe.layers), a));
    for (int j = 0; j < kNoises; ++j) {
      const double z = 5.0 * (2.0 * j / (kNoises - 1) - 1);
      const double score = probe.score * a + deviation * z, leak = score * score / d;
      double log_recall = 0;
      for (size_t k = 0; k < others.size(); ++k)
        if (others[k] > 0)
          log_recall +=
              others[k] * log_normal_cdf(score / std::sqrt(variance(groups_[k].energy, a) + leak));
      for (size_t k = 0; k < probe.rivals.size() && log_recall > -40; ++k)
        log_recall += log_normal_cdf((score - probe.rivals[k].interference * a) /
                                     std::sqrt(variance(probe.rivals[k].energy, a) + leak));
      const double weight = std::exp(-(g * g + z * z) / 2);
      weights += weight;
      recall += weight * std::exp(log_recall);
    }
  }
  return recall / weights;
}

Spread WindowErrorPredictor::error(int64_t dimension) const {
  check_argument(dimension >= 2, "WindowErrorPredictor: dimension {}; at least 2 is needed",
                 dimension);
  return spread_of(theory::parallel_runs(
      probes(), [&](int64_t k) { return 1 - recall(probes_[static_cast<size_t>(k)], dimension); }));
}

double WindowErrorPredictor::floor() const {
  double lost = 0;
  for (const Probe& probe : probes_) {
    double rivals = 0;  // as strong as the right token; noise decides between them
    bool is_beaten = false;
    for (const Rival& rival : probe.rivals) {
      rivals += rival.interference == probe.score;
      is_beaten |= rival.interference > probe.score;
    }
    lost += is_beaten ? 1 : rivals / (rivals + 1);
  }
  return lost / static_cast<double>(probes_.size());
}

}  // namespace tessera::memo
