#include "tessera/memo/detail/window_error_predictor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <unordered_map>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/memo/detail/window_hash.h"
#include "tessera/plan/parallel.h"

namespace tessera::memo {
namespace {

// Windows visited for each shared part; if there are more, a sample.
constexpr int64_t kMostVisits = 8192;

/// One comparable part of a layer's key: `length` tokens that start `reach` before the position.
struct Part {
  size_t layer;
  int64_t reach, length;
};

std::vector<Part> parts_of(std::span<const int64_t> windows, int32_t heads) {
  std::vector<Part> parts;
  for (size_t layer = 0; layer < windows.size(); ++layer)
    for (int32_t slot = 0; slot < heads; ++slot) {
      const int64_t length = windows[layer] / heads;
      parts.push_back({layer, windows[layer] - slot * length, length});
    }
  return parts;
}

/// Tokens of each layer's windows, heads^layer, as far as a document of `longest` tokens fills
/// them.
std::vector<int64_t> windows_within(int64_t longest, const TextMemoryConfig& config) {
  std::vector<int64_t> windows;
  int64_t window = config.heads;
  for (int32_t layer = 0; layer < config.layers && window < longest; ++layer) {
    windows.push_back(window);
    window *= config.heads;  // fits 64 bits, as the one before is below 2^31
  }
  return windows;
}

}  // namespace

/// The documents' tokens, one after the other, and which of them write.
struct WindowErrorPredictor::Text {
  Text(const Documents& documents, const TextMemoryConfig& config);

  int64_t size() const { return std::ssize(tokens); }
  uint64_t hash(int64_t begin, int64_t length) const {
    return hash_tokens(std::span(tokens).subspan(begin, length));
  }
  /// Whether so many tokens of its document are before a position.
  bool holds_window(int64_t position, int64_t window) const {
    return position - window >= begins[position];
  }
  std::vector<int32_t> writers_of(int64_t window) const;

  std::vector<int32_t> tokens;
  std::vector<int32_t> begins;   // of each token, where its document begins
  std::vector<int64_t> windows;  // tokens, of the layers that a document can fill
  /// Of each layer and position the first one in its document with the same window and token, which
  /// writes this pair; -1 where there is no window.
  std::vector<std::vector<int32_t>> writers;
};

WindowErrorPredictor::Text::Text(const Documents& documents, const TextMemoryConfig& config) {
  size_t longest = 0;
  for (const auto& document : documents) {
    begins.insert(begins.end(), document.size(), static_cast<int32_t>(tokens.size()));
    tokens.insert(tokens.end(), document.begin(), document.end());
    longest = std::max(longest, document.size());
  }
  check_argument(tokens.size() <= INT32_MAX, "WindowErrorPredictor: {} tokens, expected at most {}",
                 tokens.size(), INT32_MAX);
  windows = windows_within(longest, config);
  writers = theory::parallel_runs(std::ssize(windows),
                                  [&](int64_t layer) { return writers_of(windows[layer]); });
}

std::vector<int32_t> WindowErrorPredictor::Text::writers_of(int64_t window) const {
  std::vector<int32_t> found(tokens.size(), -1);
  std::unordered_map<uint64_t, int32_t> first;  // of the document's pairs
  for (int64_t i = 0; i < size(); ++i) {
    if (begins[i] == i) first = decltype(first)();  // clear() keeps its room
    if (holds_window(i, window))
      found[i] =
          first.try_emplace(hash(i - window, window + 1), static_cast<int32_t>(i)).first->second;
  }
  return found;
}

WindowErrorPredictor::WindowErrorPredictor(const Documents& documents,
                                           const TextMemoryConfig& config, int64_t probes,
                                           uint64_t seed)
    : RecallPredictor(documents, config), config_(config) {
  const Text text(documents, config);
  const PartIndex index = index_parts(text);
  count_energy(text);
  group_of_token_ = theory::group_outputs(energy_of_token_, groups_);
  std::vector<int32_t> places;
  for (int64_t i = 0; i < text.size(); ++i)
    if (text.holds_window(i, config.heads)) places.push_back(static_cast<int32_t>(i));
  const auto chosen = choose(std::ssize(places), probes, seed);
  probes_ = theory::parallel_runs(std::ssize(chosen), [&](int64_t k) {
    const int64_t place = chosen[k];
    return make_probe(text, places[place], index);
  });
}

void WindowErrorPredictor::count_energy(const Text& text) {
  energy_of_token_.assign(config_.vocabulary, 0.0);
  for (const auto& writers : text.writers)
    for (int64_t i = 0; i < text.size(); ++i)
      if (writers[i] == i) {
        energy_of_token_[text.tokens[i]] += 1;
        ++associations_;
      }
}

WindowErrorPredictor::PartIndex WindowErrorPredictor::index_parts(const Text& text) const {
  const auto parts = parts_of(text.windows, config_.heads);
  return theory::parallel_runs(std::ssize(parts), [&](int64_t k) {
    const Part& part = parts[k];
    PartIndex::value_type written;
    for (int64_t i = 0; i < text.size(); ++i)
      if (text.writers[part.layer][i] == i)
        written.emplace_back(text.hash(i - part.reach, part.length), static_cast<int32_t>(i));
    std::ranges::sort(written);
    return written;
  });
}

WindowErrorPredictor::Probe WindowErrorPredictor::make_probe(const Text& text, int64_t position,
                                                             const PartIndex& index) const {
  const auto parts = parts_of(text.windows, config_.heads);
  const double share = 1.0 / config_.heads;  // of a part in its key
  const int32_t right = text.tokens[position];
  std::map<int32_t, double> interference;
  Probe probe;
  for (size_t k = 0; k < parts.size(); ++k) {
    const int32_t its_own = text.writers[parts[k].layer][position];
    if (its_own < 0) continue;
    probe.layers += share;
    const uint64_t hash = text.hash(position - parts[k].reach, parts[k].length);
    const auto writers =
        std::ranges::equal_range(index[k], hash, {}, &PartIndex::value_type::value_type::first);
    const int64_t stride = (std::ssize(writers) + kMostVisits - 1) / kMostVisits;
    for (int64_t i = 0; i < std::ssize(writers); i += stride)
      if (const int32_t writer = writers[i].second; writer != its_own)
        interference[text.tokens[writer]] += share * static_cast<double>(stride);
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
  const double d = dimension;
  // Slots that share one Gaussian projection have key products of variance (1 + 1/h) / d.
  const double spread = 1 + 1.0 / config_.heads;
  const double total_energy = associations_;
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
      probes(), [&](int64_t k) { return 1 - recall(probes_[k], dimension); }));
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
