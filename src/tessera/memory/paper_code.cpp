#include "tessera/memory/paper_code.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double kTokenScale = 2;        // standard deviation of an entry of E
constexpr double kProjectionScale = 16;  // of an entry of W_k
constexpr double kKeyScale = 32;         // of an entry of a key
constexpr int kTokenLimit = 7;
constexpr int kProjectionLimit = 63;
constexpr int kLimit = 127;

enum Stream : uint64_t { kTokens = 0, kProjections = 1 };

double length_of(std::span<const int8_t> x) {
  int64_t squares = 0;
  for (const int8_t entry : x) squares += int{entry} * int{entry};
  return std::sqrt(static_cast<double>(squares));
}

}  // namespace

PaperCode::PaperCode(const TextMemoryConfig& config)
    : config_(config),
      lengths_(window_lengths(config)),
      token_law_(kTokenScale, kTokenLimit),
      projection_law_(kProjectionScale, kProjectionLimit) {
  const int64_t d = config.dimension, entries = d * (d / config.heads);
  tokens_.resize(static_cast<size_t>(config.vocabulary * d));
  token_law_.draw(config.seed, kTokens, 0, config.vocabulary * d, tokens_.data());
  projections_.resize(static_cast<size_t>(config.layers * entries));
  for (int32_t k = 0; k < config.layers; ++k)
    projection_law_.draw(config.seed, kProjections + static_cast<uint64_t>(k), 0, entries,
                         &projections_[static_cast<size_t>(k * entries)]);
}

std::vector<int8_t> PaperCode::encode(std::span<const int32_t> tokens, int32_t k) const {
  const auto d = static_cast<size_t>(config_.dimension);
  if (k == 1) {
    const auto first = tokens_.begin() + static_cast<int64_t>(tokens[0]) * config_.dimension;
    return {first, first + config_.dimension};
  }
  const size_t part = tokens.size() / static_cast<size_t>(config_.heads);
  std::vector<double> product(d, 1.0);
  for (int32_t m = 0; m < config_.heads; ++m) {
    const auto x = encode(tokens.subspan(static_cast<size_t>(m) * part, part), k - 1);
    for (size_t c = 0; c < d; ++c) product[c] *= x[c];
  }
  double largest = 0;
  for (const double entry : product) largest = std::max(largest, std::abs(entry));
  std::vector<int8_t> code(d, 0);
  if (largest == 0) return code;
  const double scale = kLimit / largest;
  for (size_t c = 0; c < d; ++c) code[c] = static_cast<int8_t>(std::nearbyint(product[c] * scale));
  return code;
}

std::vector<int8_t> PaperCode::key(std::span<const int32_t> window, int32_t k) const {
  const int64_t d = config_.dimension, width = d / config_.heads;
  const size_t part = window.size() / static_cast<size_t>(config_.heads);
  const int8_t* projection = &projections_[static_cast<size_t>((k - 1) * d * width)];
  std::vector<int8_t> key(static_cast<size_t>(d), 0);
  for (int32_t m = 0; m < config_.heads; ++m) {
    const auto x = encode(window.subspan(static_cast<size_t>(m) * part, part), k);
    // Tokens have unit length on average, as in the authors' code; encodings exactly.
    const double length =
        k == 1 ? token_law_.deviation() * std::sqrt(static_cast<double>(d)) : length_of(x);
    if (length == 0) continue;
    const double scale = kKeyScale / (length * projection_law_.deviation());
    for (int64_t j = 0; j < width; ++j) {
      int32_t sum = 0;
      for (int64_t i = 0; i < d; ++i)
        sum += int{x[static_cast<size_t>(i)]} * projection[i * width + j];
      const double entry = std::clamp<double>(std::nearbyint(sum * scale), -kLimit, kLimit);
      key[static_cast<size_t>(m * width + j)] = static_cast<int8_t>(entry);
    }
  }
  return key;
}

void PaperCode::edit(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
                     ExactCorrelationMemory& memory) const {
  std::vector<int8_t> keys, values;
  for (const WindowPair& pair : pairs) {
    const auto length = static_cast<size_t>(lengths_[static_cast<size_t>(pair.length_index)]);
    const auto next = static_cast<size_t>(pair.next);
    const auto window_key = key(text.subspan(next - length, length), pair.length_index + 1);
    keys.insert(keys.end(), window_key.begin(), window_key.end());
    const auto value = encode(text.subspan(next, 1), 1);
    values.insert(values.end(), value.begin(), value.end());
  }
  memory.edit(edit, keys, values);
}

WindowQueries PaperCode::queries(std::span<const int32_t> context) const {
  WindowQueries queries;
  for (const int64_t length : lengths_) {
    if (length > static_cast<int64_t>(context.size())) break;
    const auto window_key =
        key(context.last(static_cast<size_t>(length)), static_cast<int32_t>(++queries.count));
    queries.keys.insert(queries.keys.end(), window_key.begin(), window_key.end());
  }
  return queries;
}

void PaperCode::score(const WindowQueries& queries, std::span<const float> retrieved,
                      std::span<float> scores) const {
  const int64_t d = config_.dimension, V = config_.vocabulary;
  const double deviation = kKeyScale * token_law_.deviation() * static_cast<double>(d);
  for (int64_t k = 0; k < queries.count; ++k)
    for (int64_t y = 0; y < V; ++y) {
      double sum = 0;
      for (int64_t c = 0; c < d; ++c)
        sum += static_cast<double>(retrieved[static_cast<size_t>(k * d + c)]) *
               tokens_[static_cast<size_t>(y * d + c)];
      scores[static_cast<size_t>(k * V + y)] = static_cast<float>(sum / (deviation * deviation));
    }
}

double PaperCode::noise(const ExactCorrelationMemory& memory) const {
  const double d = static_cast<double>(config_.dimension);
  // The parts of a key share one Gaussian W_k, and the codes of V tokens overlap in d dimensions.
  const double overlap =
      (1.0 + 1.0 / config_.heads) * (1.0 + d / static_cast<double>(config_.vocabulary));
  return std::sqrt(memory.energy() * overlap) / (kKeyScale * token_law_.deviation() * d);
}

}  // namespace tessera
