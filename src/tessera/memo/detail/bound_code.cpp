#include "tessera/memo/detail/bound_code.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "tessera/base/random.h"
#include "tessera/memo/cpu/token_scores.h"
#include "tessera/memo/detail/window_hash.h"

namespace tessera::memo {
namespace {

constexpr int64_t kLargestBlock = 1024;           // tokens
constexpr uint64_t kCodeStream = 0x746f6b656e73;  // Philox stream of the token codes

/// 2^p, the tokens whose codes are orthogonal to each other.
int64_t block_of(int64_t dimension) {
  return std::min(kLargestBlock, dimension & -dimension);
}

/// `count` words of 64 random bits each, starting at block `first`.
void draw_words(const Philox& philox, uint64_t first, int64_t count, uint64_t* words) {
  for (int64_t w = 0; w < count; ++w) {
    const auto four = philox.block(first + static_cast<uint64_t>(w / 2));
    words[w] = uint64_t{four[1]} << 32 | four[0];
    if (++w < count) words[w] = uint64_t{four[3]} << 32 | four[2];
  }
}

/// Row j of the 64 x 64 Hadamard matrix.
constexpr std::array<uint64_t, 64> kHadamard64 = [] {
  std::array<uint64_t, 64> rows{};
  for (uint64_t j = 0; j < 64; ++j)
    for (uint64_t c = 0; c < 64; ++c)
      rows[j] |= static_cast<uint64_t>(std::popcount(j & c) & 1) << c;
  return rows;
}();

/// 64 signs of row j of a Hadamard matrix, starting at column 64 w.
uint64_t hadamard_word(uint64_t j, uint64_t w) {
  const uint64_t upper = std::popcount(j / 64 & w) & 1;
  return kHadamard64[j % 64] ^ (0 - upper);
}

/// Keeps the end of the text that the longest window covers.
class ContextStream final : public WindowStream {
 public:
  ContextStream(const WindowCode& code, int64_t longest) : code_(code), longest_(longest) {}

  void append(int32_t token) override {
    if (context_.size() == 2 * longest_)
      context_.erase(context_.begin(), context_.end() - longest_ + 1);
    context_.push_back(token);
  }
  WindowQueries queries() const override {
    const std::span<const int32_t> context(context_);
    return code_.queries({&context, 1});
  }

 private:
  const WindowCode& code_;
  size_t longest_;
  std::vector<int32_t> context_;
};

}  // namespace

BoundCode::BoundCode(const TextMemoryConfig& config)
    : WindowCode(config), words_(config.dimension / 64), block_(block_of(config.dimension)) {
  const int64_t blocks = (config.vocabulary + block_ - 1) / block_;
  token_masks_.resize(blocks * words_);
  draw_words(Philox(config.seed, kCodeStream), 0, blocks * words_, token_masks_.data());
}

void BoundCode::draw_signs(std::span<const int32_t> window, uint64_t* key, uint64_t* mask) const {
  const Philox philox(config().seed, hash_tokens(window));
  draw_words(philox, 0, words_, key);
  draw_words(philox, static_cast<uint64_t>((words_ + 1) / 2), words_, mask);
}

void BoundCode::bind(int32_t token, uint64_t* signs) const {
  const uint64_t* mask = &token_masks_[token / block_ * words_];
  for (int64_t w = 0; w < words_; ++w)
    signs[w] ^= mask[w] ^ hadamard_word(static_cast<uint64_t>(token % block_),
                                        static_cast<uint64_t>(w % (block_ / 64)));
}

void BoundCode::edit(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
                     ExactCorrelationMemory& memory) const {
  const size_t words = words_;
  const auto lengths = window_lengths();
  std::vector<uint64_t> keys(pairs.size() * words), values(pairs.size() * words);
#pragma omp parallel for schedule(static)
  for (size_t n = 0; n < pairs.size(); ++n) {
    const size_t length = lengths[pairs[n].length_index];
    const size_t next = pairs[n].next;
    draw_signs(text.subspan(next - length, length), &keys[n * words], &values[n * words]);
    bind(text[next], &values[n * words]);
  }
  memory.edit(edit, SignRows{keys, config().dimension}, SignRows{values, config().dimension});
}

WindowQueries BoundCode::queries(std::span<const std::span<const int32_t>> contexts) const {
  const size_t d = config().dimension, words = words_;
  WindowQueries queries;
  std::vector<uint64_t> key(words);
  for (const auto& context : contexts)
    for (const int64_t length : window_lengths()) {
      if (length > std::ssize(context)) break;
      queries.masks.resize(queries.masks.size() + words);
      const auto window = context.last(length);
      draw_signs(window, key.data(), &*queries.masks.end() - words);
      queries.shards.push_back(shard_of(hash_tokens(window), config().shards));
      for (size_t c = 0; c < d; ++c)
        queries.keys.push_back((key[c / 64] >> (c % 64) & 1) != 0 ? -1 : 1);
    }
  return queries;
}

std::unique_ptr<WindowStream> BoundCode::stream() const {
  return std::make_unique<ContextStream>(*this, window_lengths().back());
}

float BoundCode::scale() const {
  const auto d = static_cast<float>(config().dimension);
  return 1 / (d * d);
}

void BoundCode::score(std::span<const float> values, std::span<float* const> scores) const {
  cpu::hadamard_scores({.count = std::ssize(scores),
                        .width = config().dimension,
                        .block = block_,
                        .tokens = config().vocabulary,
                        .values = values.data(),
                        .masks = token_masks_.data(),
                        .scale = scale(),
                        .scores = scores.data()});
}

float BoundCode::score(std::span<const float> value, int32_t token) const {
  std::vector<uint64_t> code(words_, 0);
  bind(token, code.data());
  double sum = 0;
  for (size_t c = 0; c < value.size(); ++c)
    sum += (code[c / 64] >> (c % 64) & 1) != 0 ? -value[c] : value[c];
  return static_cast<float>(sum) * scale();
}

double BoundCode::noise(double energy) const {
  return std::sqrt(energy) / static_cast<double>(config().dimension);
}

double BoundCode::noise(std::span<const float> value) const {
  double squares = 0;
  for (const float entry : value) squares += static_cast<double>(entry) * entry;
  return std::sqrt(squares * crosstalk_share(config().dimension, config().vocabulary)) * scale();
}

double BoundCode::crosstalk_share(int64_t dimension, int64_t vocabulary) {
  return 1 -
         std::min(1.0, static_cast<double>(block_of(dimension)) / static_cast<double>(vocabulary));
}

}  // namespace tessera::memo
