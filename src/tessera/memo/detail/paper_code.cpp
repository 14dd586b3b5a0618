#include "tessera/memo/detail/paper_code.h"

#include <algorithm>
#include <cmath>

#include "tessera/memo/cpu/window_products.h"
#include "tessera/memo/detail/outer_products.h"

namespace tessera::memo {
namespace {

constexpr double kProjectionScale = 16;  // standard deviation of an entry of W_k
constexpr int kProjectionLimit = 63;
constexpr double kKeyScale = 32;  // standard deviation of an entry of a key
static_assert(kProjectionLimit <= kRightLimit);

enum RandomStreams : uint64_t { kTokenStream = 0, kProjectionStream = 1 };  // one a layer

double length_of(std::span<const int8_t> x) {
  int64_t squares = 0;
  for (const int8_t entry : x) squares += int{entry} * int{entry};
  return std::sqrt(static_cast<double>(squares));
}

}  // namespace

PaperCode::PaperCode(const TextMemoryConfig& config)
    : WindowCode(config),
      tokens_(config.vocabulary, config.dimension, config.seed, kTokenStream),
      projection_law_(kProjectionScale, kProjectionLimit) {
  const int64_t entries = config.dimension * part_width();
  projections_.resize(config.layers * entries);
  for (int32_t k = 0; k < config.layers; ++k)
    projection_law_.draw(config.seed, kProjectionStream + static_cast<uint64_t>(k), 0, entries,
                         &projections_[k * entries]);
}

std::vector<int8_t> PaperCode::token_codes(std::span<const int32_t> tokens) const {
  const size_t d = config().dimension;
  std::vector<int8_t> codes(tokens.size() * d);
#pragma omp parallel for schedule(static) if (tokens.size() > 1)
  for (size_t n = 0; n < tokens.size(); ++n) tokens_.copy_row(tokens[n], &codes[n * d]);
  return codes;
}

std::vector<int8_t> PaperCode::encode(std::span<const int8_t> codes, int64_t count,
                                      int64_t next_step, int64_t part_step) const {
  std::vector<int8_t> encoded(count * config().dimension);
  cpu::window_products({.count = count,
                        .width = config().dimension,
                        .parts = config().heads,
                        .next_step = next_step,
                        .part_step = part_step,
                        .numbers = codes.data(),
                        .codes = encoded.data()});
  return encoded;
}

std::vector<int8_t> PaperCode::project(std::span<const int8_t> codes, int32_t k) const {
  const int64_t d = config().dimension, width = part_width();
  const int64_t count = std::ssize(codes) / d;
  std::vector<int32_t> sums(count * width);
  multiply_bytes(count, width, d, codes.data(), d, &projections_[(k - 1) * d * width], width, false,
                 sums.data(), width);
  // Tokens have unit length on average, as in the authors' code; encodings exactly.
  const double token_length = tokens_.deviation() * std::sqrt(static_cast<double>(d));
  std::vector<double> scales(count);
  for (int64_t n = 0; n < count; ++n) {
    const double length = k == 1 ? token_length : length_of(codes.subspan(n * d, d));
    scales[n] = length > 0 ? kKeyScale / (length * projection_law_.deviation()) : 0;
  }
  std::vector<int8_t> parts(sums.size());
  cpu::key_rounding({count, width, sums.data(), scales.data(), parts.data()});
  return parts;
}

void PaperCode::edit(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
                     ExactCorrelationMemory& memory) const {
  const int64_t d = config().dimension, h = config().heads, width = part_width();
  const auto lengths = window_lengths();
  const auto tokens = token_codes(text);
  // parts[k - 1]: the parts from the windows of h^(k - 1) tokens that start at 0, 1, ...
  std::vector<std::vector<int8_t>> parts;
  std::vector<int8_t> codes = tokens;
  auto starts = std::ssize(text);
  for (int32_t k = 1; k <= config().layers && starts > 0; ++k) {
    parts.push_back(project(codes, k));
    const int64_t part_step = lengths[k - 1] / h;
    starts -= (h - 1) * part_step;
    if (k < config().layers && starts > 0) codes = encode(codes, starts, 1, part_step);
  }
  std::vector<int8_t> keys(pairs.size() * d), values(keys.size());
#pragma omp parallel for schedule(static)
  for (size_t n = 0; n < pairs.size(); ++n) {
    const size_t k = pairs[n].length_index;
    const int64_t start = pairs[n].next - lengths[k], part_step = lengths[k] / h;
    int8_t* key = &keys[n * d];
    for (int64_t m = 0; m < h; ++m)
      std::copy_n(&parts[k][(start + m * part_step) * width], width, key + m * width);
    std::copy_n(&tokens[pairs[n].next * d], d, &values[n * d]);
  }
  memory.edit(edit, keys, values);
}

WindowQueries PaperCode::queries(std::span<const std::span<const int32_t>> contexts) const {
  const size_t d = config().dimension;
  const auto lengths = window_lengths();
  std::vector<size_t> first_query;  // for each context
  size_t count = 0;
  for (const auto& context : contexts) {
    first_query.push_back(count);
    for (const int64_t length : lengths) count += length <= std::ssize(context);
  }
  WindowQueries queries;
  queries.keys.resize(count * d);
  for (size_t k = 0; k < lengths.size(); ++k) {
    // The last window of this length of every context that can fill one, end to end.
    const size_t length = lengths[k];
    std::vector<int32_t> windows;
    std::vector<size_t> places;
    for (size_t c = 0; c < contexts.size(); ++c)
      if (contexts[c].size() >= length) {
        const auto window = contexts[c].last(length);
        windows.insert(windows.end(), window.begin(), window.end());
        places.push_back(first_query[c] + k);
      }
    const auto keys = keys_of(windows, static_cast<int32_t>(k) + 1);
    for (size_t n = 0; n < places.size(); ++n)
      std::copy_n(&keys[n * d], d, &queries.keys[places[n] * d]);
  }
  return queries;
}

std::vector<int8_t> PaperCode::keys_of(std::span<const int32_t> windows, int32_t k) const {
  auto codes = token_codes(windows);
  auto count = std::ssize(windows);
  for (int32_t layer = 1; layer < k; ++layer) {
    count /= config().heads;
    codes = encode(codes, count, config().heads, 1);
  }
  return project(codes, k);  // [n h, d / h] is [n, d]
}

/// Keeps the last h^k rows of every X^k and of the parts of keys from them. The windows that end
/// the text are composed of these rows, with one projection for each length and token.
class PaperCode::Stream final : public WindowStream {
 public:
  explicit Stream(const PaperCode& code) : code_(code) {
    for (const int64_t length : code.window_lengths())
      rings_.push_back({length / code.config().heads, length, {}, {}});
  }

  void append(int32_t token) override {
    ++read_;
    auto codes = code_.token_codes({&token, 1});
    for (int32_t k = 1; k <= code_.config().layers; ++k) {
      Ring& ring = rings_[k - 1];
      ring.put(read_, code_.project(codes, k), ring.parts);
      if (k == code_.config().layers) return;
      ring.put(read_, codes, ring.codes);
      if (read_ < ring.length) return;
      codes = code_.encode(ring.window(read_, code_.config().dimension, ring.codes), 1, 1, 1);
    }
  }

  WindowQueries queries() const override {
    WindowQueries queries;
    for (const Ring& ring : rings_) {
      if (read_ < ring.length) break;
      const auto key = ring.window(read_, code_.part_width(), ring.parts);
      queries.keys.insert(queries.keys.end(), key.begin(), key.end());
    }
    return queries;
  }

 private:
  struct Ring {
    int64_t part_length;  // h^(k-1), tokens
    int64_t length;       // h^k
    std::vector<int8_t> codes, parts;

    void put(int64_t read, std::span<const int8_t> row, std::vector<int8_t>& rows) const {
      rows.resize(length * row.size());
      std::ranges::copy(row, rows.begin() + read % length * std::ssize(row));
    }
    /// The rows of the parts of the last window, oldest first.
    std::vector<int8_t> window(int64_t read, int64_t width, std::span<const int8_t> rows) const {
      std::vector<int8_t> all;
      for (int64_t age = length - part_length; age >= 0; age -= part_length) {
        const auto row = rows.subspan((read - age) % length * width, width);
        all.insert(all.end(), row.begin(), row.end());
      }
      return all;
    }
  };

  const PaperCode& code_;
  int64_t read_ = 0;
  std::vector<Ring> rings_;
};

std::unique_ptr<WindowStream> PaperCode::stream() const {
  return std::make_unique<Stream>(*this);
}

float PaperCode::scale() const {
  const double root = kKeyScale * tokens_.deviation() * static_cast<double>(config().dimension);
  return static_cast<float>(1 / (root * root));
}

void PaperCode::score(std::span<const float> values, std::span<float* const> scores) const {
  tokens_.score(values, scale(), scores);
}

float PaperCode::score(std::span<const float> value, int32_t token) const {
  const std::vector<int8_t> code = token_codes({&token, 1});
  double sum = 0;
  for (size_t c = 0; c < value.size(); ++c) sum += value[c] * static_cast<float>(code[c]);
  return static_cast<float>(sum) * scale();
}

double PaperCode::noise(double energy) const {
  const double d = config().dimension;
  // Keys of one length share a Gaussian W_k in each of their h parts, and the codes of V tokens
  // overlap in d dimensions.
  const double overlap = (1 + 1 / static_cast<double>(config().heads * config().layers)) *
                         (1 + d / static_cast<double>(config().vocabulary));
  return std::sqrt(energy * overlap) / (kKeyScale * tokens_.deviation() * d);
}

}  // namespace tessera::memo
