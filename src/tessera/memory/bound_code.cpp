#include "tessera/memory/bound_code.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/base/random.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tessera {
namespace {

constexpr int64_t kLargestBlock = 1024;            // tokens
constexpr uint64_t kTokenStream = 0x746f6b656e73;  // Philox stream of the token codes

uint64_t window_hash(std::span<const int32_t> window) {
  return XXH3_64bits(window.data(), window.size_bytes());
}

/// `count` words, 64 random bits each, from block `first` on.
void draw_words(const Philox& philox, uint64_t first, int64_t count, uint64_t* words) {
  for (int64_t w = 0; w < count; ++w) {
    const auto four = philox.block(first + static_cast<uint64_t>(w / 2));
    const size_t half = static_cast<size_t>(w % 2) * 2;
    words[w] = uint64_t{four[half + 1]} << 32 | four[half];
  }
}

int sign_at(const uint64_t* words, int64_t place) {
  return (words[place / 64] >> (place % 64) & 1) != 0 ? -1 : 1;
}

void unpack(const uint64_t* words, int64_t count, int8_t* signs) {
  for (int64_t c = 0; c < count; ++c) signs[c] = static_cast<int8_t>(sign_at(words, c));
}

/// 64 signs of row `row` of the Hadamard matrix from column `column` on.
uint64_t hadamard_word(int64_t row, int64_t column) {
  uint64_t word = 0;
  for (int64_t c = 0; c < 64; ++c)
    word |= static_cast<uint64_t>(std::popcount(static_cast<uint64_t>(row & (column + c))) & 1)
            << c;
  return word;
}

/// x becomes H x, in place.
void hadamard_transform(float* x, int64_t size) {
  for (int64_t reach = 1; reach < size; reach *= 2)
    for (int64_t first = 0; first < size; first += 2 * reach)
      for (int64_t i = first; i < first + reach; ++i) {
        const float a = x[i], b = x[i + reach];
        x[i] = a + b;
        x[i + reach] = a - b;
      }
}

}  // namespace

BoundCode::BoundCode(const TextMemoryConfig& config)
    : config_(config),
      lengths_(window_lengths(config)),
      words_(config.dimension / 64),
      block_(std::min(kLargestBlock, config.dimension & -config.dimension)) {
  const int64_t blocks = (config.vocabulary + block_ - 1) / block_;
  token_masks_.resize(static_cast<size_t>(blocks * words_));
  draw_words(Philox(config.seed, kTokenStream), 0, blocks * words_, token_masks_.data());
}

void BoundCode::draw_signs(std::span<const int32_t> window, uint64_t* key, uint64_t* mask) const {
  const Philox philox(config_.seed, window_hash(window));
  draw_words(philox, 0, words_, key);
  draw_words(philox, static_cast<uint64_t>((words_ + 1) / 2), words_, mask);
}

void BoundCode::edit(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
                     ExactCorrelationMemory& memory) const {
  const auto words = static_cast<size_t>(words_);
  std::vector<uint64_t> keys(pairs.size() * words), values(pairs.size() * words);
  for (size_t n = 0; n < pairs.size(); ++n) {
    const auto length = static_cast<size_t>(lengths_[static_cast<size_t>(pairs[n].length_index)]);
    const auto next = static_cast<size_t>(pairs[n].next);
    uint64_t* value = &values[n * words];
    draw_signs(text.subspan(next - length, length), &keys[n * words], value);
    const int64_t token = text[next];
    const uint64_t* token_mask = &token_masks_[static_cast<size_t>(token / block_ * words_)];
    for (int64_t w = 0; w < words_; ++w)
      value[w] ^= token_mask[w] ^ hadamard_word(token % block_, w * 64 % block_);
  }
  memory.edit(edit, SignRows{keys, config_.dimension}, SignRows{values, config_.dimension});
}

WindowQueries BoundCode::queries(std::span<const int32_t> context) const {
  WindowQueries queries;
  std::vector<uint64_t> key(static_cast<size_t>(words_)), mask(static_cast<size_t>(words_));
  for (const int64_t length : lengths_) {
    if (length > static_cast<int64_t>(context.size())) break;
    draw_signs(context.last(static_cast<size_t>(length)), key.data(), mask.data());
    const auto end = static_cast<size_t>(++queries.count * config_.dimension);
    queries.keys.resize(end);
    queries.masks.resize(end);
    unpack(key.data(), config_.dimension,
           &queries.keys[end - static_cast<size_t>(config_.dimension)]);
    unpack(mask.data(), config_.dimension,
           &queries.masks[end - static_cast<size_t>(config_.dimension)]);
  }
  return queries;
}

void BoundCode::score(const WindowQueries& queries, std::span<const float> retrieved,
                      std::span<float> scores) const {
  const int64_t d = config_.dimension, V = config_.vocabulary;
  const float scale = 1.0f / (static_cast<float>(d) * static_cast<float>(d));
  std::vector<float> folded(static_cast<size_t>(block_));
  for (int64_t k = 0; k < queries.count; ++k)
    for (int64_t first = 0; first < V; first += block_) {
      const uint64_t* token_mask = &token_masks_[static_cast<size_t>(first / block_ * words_)];
      std::ranges::fill(folded, 0.0f);
      for (int64_t c = 0; c < d; ++c) {
        const auto place = static_cast<size_t>(k * d + c);
        folded[static_cast<size_t>(c % block_)] +=
            static_cast<float>(queries.masks[place] * sign_at(token_mask, c)) * retrieved[place];
      }
      hadamard_transform(folded.data(), block_);
      for (int64_t j = 0; j < std::min(block_, V - first); ++j)
        scores[static_cast<size_t>(k * V + first + j)] = scale * folded[static_cast<size_t>(j)];
    }
}

double BoundCode::noise(const ExactCorrelationMemory& memory) const {
  return std::sqrt(memory.energy()) / static_cast<double>(config_.dimension);
}

}  // namespace tessera
