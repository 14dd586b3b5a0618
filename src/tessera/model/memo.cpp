#include "tessera/model/memo.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/sequence_model.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

constexpr int64_t kLongestWindow = int64_t{1} << 20;

int64_t power(int64_t base, int64_t exponent) {
  int64_t value = 1;
  while (exponent-- > 0) value *= base;
  return value;
}

/// The h members of every window of a layer: x [B, m, c] -> h views [B, windows, c]. Windows of
/// every position are dilated: their members lie h^(layer - 1) apart, since each is the encoding of
/// so many tokens.
std::vector<at::Tensor> members(const at::Tensor& x, int64_t heads, int64_t layer,
                                MemoWindows windows) {
  const bool blocks = windows == MemoWindows::kBlocks;
  const int64_t apart = blocks ? 1 : power(heads, layer - 1), step = blocks ? heads : 1;
  const int64_t span = (heads - 1) * apart + 1;
  const int64_t count = x.size(1) < span ? 0 : (x.size(1) - span) / step + 1;
  std::vector<at::Tensor> result;
  for (int64_t slot = 0; slot < heads; ++slot)
    result.push_back(x.slice(1, slot * apart, slot * apart + count * step, step));
  return result;
}

/// Gaussian [d, d / h], columns at right angles and of length 1.
at::Tensor orthonormal(const at::Tensor& gaussian) {
  return std::get<0>(at::linalg_qr(gaussian)).contiguous();
}

/// [B, n, d] -> [B n, d].
at::Tensor rows_of(const at::Tensor& x) {
  return x.reshape({-1, x.size(-1)});
}

}  // namespace

int64_t MemoConfig::longest_window() const {
  return power(heads, layers);
}

void MemoConfig::check() const {
  config::check_demands(*this, "model");
  check_heads(heads, dimension, "dimension");
  int64_t window = 1;
  for (int64_t layer = 0; layer < layers && window <= kLongestWindow; ++layer) window *= heads;
  if (window > kLongestWindow)
    throw UsageError(
        "model.layers is {} with {} heads: windows of heads^layers, expected at most {} tokens",
        layers, heads, kLongestWindow);
}

Memo::Memo(const MemoConfig& config, uint64_t seed)
    : config_(config::checked(config)), last_(config.dimension, config.dimension) {
  const int64_t d = config_.dimension, h = config_.heads;
  Initialiser random(seed);
  const auto gaussian = [&](at::IntArrayRef sizes, double variance) {
    const at::Tensor numbers = at::empty(sizes);
    random.normal(numbers, std::sqrt(variance));
    return numbers;
  };
  // Differs from the authors' code: token 0 has a vector as any other; theirs is zero, padding.
  embeddings_ = gaussian({config_.vocabulary, d}, 1.0 / static_cast<double>(d));
  for (int64_t layer = 1; layer <= config_.layers; ++layer) {
    // |x W_V|^2 is about 1/h, so that of a key of h slots is about 1 (sec. 3.1).
    projections_.push_back(gaussian({d, d / h}, 1.0 / static_cast<double>(d)));
    if (config_.projection == SlotProjection::kOrthonormal)
      projections_.back() = orthonormal(projections_.back());
    if (layer == config_.layers) break;
    if (config_.encoding == SequenceEncoding::kJlt)
      encoders_.push_back(gaussian({h, d, d}, 1.0 / static_cast<double>(h * d)));
    if (config_.alpha < 1) intermediate_.emplace_back(d, d);
  }
}

int64_t Memo::parameters() const {
  return last_.matrix().numel() * (1 + std::ssize(intermediate_));
}

/// X^(1) [B, T, d].
at::Tensor Memo::embed(const at::Tensor& tokens, const char* function) const {
  check_shape(tokens, {-1, -1}, fmt::format("{}: tokens", function));
  check_token_ids(tokens, 0, config_.vocabulary, fmt::format("{}: token", function));
  return at::embedding(embeddings_, tokens);
}

/// I^(k) = Flat_h(X^(k) W_V^(k)): [B, m, d] -> [B, windows, d].
at::Tensor Memo::keys_of(const at::Tensor& x, int64_t layer, MemoWindows windows) const {
  const at::Tensor slots = at::matmul(x, slot_projection(layer));  // [B, m, d / h]
  return at::cat(members(slots, config_.heads, layer, windows), -1);
}

/// X^(k+1), the encodings of the windows: [B, m, d] -> [B, windows, d]. Flat_h(X^(k)) Prj^(k) is
/// added up member by member, since Flat_h would be h times as large as X.
at::Tensor Memo::encode(const at::Tensor& x, int64_t layer, MemoWindows windows) const {
  const auto parts = members(x, config_.heads, layer, windows);
  if (config_.encoding == SequenceEncoding::kJlt) {
    at::Tensor sum = at::matmul(parts[0], sequence_projection(layer)[0]);
    for (size_t slot = 1; slot < parts.size(); ++slot)
      sum += at::matmul(parts[slot], sequence_projection(layer)[static_cast<int64_t>(slot)]);
    return sum;
  }
  const double scale = std::sqrt(static_cast<double>(config_.dimension));  // against underflow
  at::Tensor product = parts[0].clone();
  for (size_t slot = 1; slot < parts.size(); ++slot) product.mul_(parts[slot]).mul_(scale);
  const at::Tensor length = at::linalg_vector_norm(product, 2, at::IntArrayRef{-1}, true);
  return product.div_(length.clamp_min(std::numeric_limits<float>::min()));
}

/// What a text writes into C^(last); hands (k, I^(k), X^(k+1)) to `visit` on the way. Keys of
/// several layers whose windows end at the same token have the same value, Sel_h(X^(1)): they are
/// added up, and one product of as many rows as there are tokens stores all layers.
Memo::Pairs Memo::last_pairs(const at::Tensor& tokens, const char* function,
                             const LayerVisitor& visit) const {
  const at::Tensor all = embed(tokens, function);  // [B, T, d]
  const int64_t h = config_.heads, inputs = std::max<int64_t>(0, all.size(1) - 1);
  const bool blocks = config_.windows == MemoWindows::kBlocks;
  at::Tensor x = all.narrow(1, 0, inputs), sum;
  Pairs pairs;
  for (int64_t k = 1; k <= config_.layers && power(h, k) <= inputs; ++k) {
    const at::Tensor keys = keys_of(x, k, config_.windows);  // [B, windows, d]
    pairs.count += keys.size(0) * keys.size(1);
    if (k == 1) {
      sum = keys.clone();
    } else if (blocks) {
      const int64_t apart = power(h, k - 1);
      sum.slice(1, apart - 1, keys.size(1) * apart, apart) += keys;
    } else {
      sum.narrow(1, sum.size(1) - keys.size(1), keys.size(1)) += keys;
    }
    if (k == config_.layers) break;
    x = encode(x, k, config_.windows);
    if (visit) visit(k, rows_of(keys), rows_of(x));
  }
  if (!sum.defined()) return {at::zeros({0, config_.dimension}), at::zeros({0, config_.dimension})};
  pairs.keys = rows_of(sum);
  pairs.values =
      rows_of(all.slice(1, h, blocks ? h * sum.size(1) + 1 : all.size(1), blocks ? h : 1));
  return pairs;
}

/// The diagonal of Phi^(k) = D^(k) F^(k) as a column [n, 1], x the sum of all encodings:
/// D = 1 - round(I C x), F = 1 / round(X x), one over how often each is written now.
/// Differs from the authors' code: the whole batch is one update, not each of its rows.
at::Tensor Memo::penalties_of(int64_t layer, const at::Tensor& keys,
                              const at::Tensor& encodings) const {
  const at::Tensor sum = encodings.sum(0);  // [d]
  const at::Tensor stored = at::matmul(intermediate_memory(layer).retrieve(keys), sum);
  const at::Tensor written = at::round(at::matmul(encodings, sum));
  // As in the authors' code, D is at least 0 and F is 0 where noise rounds a frequency to 0.
  const at::Tensor inverse = at::where(written == 0, at::zeros_like(written), written.reciprocal());
  return ((1 - at::round(stored)).clamp_min(0) * inverse).unsqueeze(1);
}

int64_t Memo::memorize(const at::Tensor& tokens) {
  const at::NoGradGuard no_grad;
  const auto store_encodings = [&](int64_t layer, const at::Tensor& keys, const at::Tensor& x) {
    // Differs from MeMoPyTorch: it divides what later batches write by 1.06^batch.
    intermediate_[layer - 1].store(keys, config_.penalties ? penalties_of(layer, keys, x) * x : x);
  };
  const bool encodings = !intermediate_.empty();
  const Pairs pairs =
      last_pairs(tokens, "Memo::memorize", encodings ? store_encodings : LayerVisitor());
  last_.store(pairs.keys, pairs.values);
  return pairs.count;
}

int64_t Memo::forget(const at::Tensor& tokens) {
  const at::NoGradGuard no_grad;
  const Pairs pairs = last_pairs(tokens, "Memo::forget");
  last_.forget(pairs.keys, pairs.values);
  return pairs.count;
}

/// The sum over the layers of their last `count` keys [B, count, d], for x = X^(1). Between layers
/// the encodings are retrieved from C^(k) (alpha = 0; the paper and MeMoHF), computed as when
/// memorizing (1; MeMoPyTorch), or mixed (1/2 is MeMoCMM's mean).
at::Tensor Memo::query(at::Tensor x, MemoWindows windows, int64_t count) const {
  at::Tensor sum = at::zeros({x.size(0), count, config_.dimension});
  for (int64_t k = 1; k <= config_.layers; ++k) {
    const at::Tensor keys = keys_of(x, k, windows);  // [B, windows, d]
    sum += keys.narrow(1, keys.size(1) - count, count);
    if (k == config_.layers) break;
    const at::Tensor computed = config_.alpha > 0 ? encode(x, k, windows) : at::Tensor();
    if (config_.alpha == 1) {
      x = computed;
      continue;
    }
    x = intermediate_memory(k).retrieve(rows_of(keys)).view_as(keys) * (1 - config_.alpha);
    if (computed.defined()) x += computed * config_.alpha;
  }
  return sum;
}

at::Tensor Memo::retrieve(const at::Tensor& contexts) const {
  const at::NoGradGuard no_grad;
  const at::Tensor x = embed(contexts, "Memo::retrieve");
  const int64_t window = config_.longest_window(), known = std::min(window, x.size(1));
  TESSERA_CHECK(known > 0, "Memo::retrieve: contexts of no token");
  const at::Tensor padded = at::constant_pad_nd(x.narrow(1, x.size(1) - known, known),
                                                {0, 0, window - known, 0});  // [B, h^l, d]
  return emit(last_.retrieve(query(padded, MemoWindows::kBlocks, 1).squeeze(1)));
}

at::Tensor Memo::keys(const at::Tensor& tokens) const {
  const at::NoGradGuard no_grad;
  const at::Tensor x = embed(tokens, "Memo::keys");
  const at::Tensor padded = at::constant_pad_nd(x, {0, 0, config_.longest_window() - 1, 0});
  return query(padded, MemoWindows::kEveryPosition, x.size(1));
}

at::Tensor Memo::read(const at::Tensor& tokens) const {
  const at::Tensor all = keys(tokens);  // [B, T, d]
  return last_.retrieve(rows_of(all)).view_as(all);
}

at::Tensor Memo::emit(const at::Tensor& outputs) const {
  return at::matmul(outputs, embeddings_.t());
}

NamedTensors Memo::memories() const {
  NamedTensors tensors = {{"last", last_.matrix()}};
  for (size_t k = 0; k < intermediate_.size(); ++k)
    tensors.emplace_back(fmt::format("intermediate.{}", k + 1), intermediate_[k].matrix());
  return tensors;
}

void Memo::restore(const TensorFile& file) {
  const auto memory = [&](const std::string& name) {
    const int64_t d = config_.dimension;
    return CorrelationMemory(file.at(name, {d, d}, at::kFloat).clone());
  };
  CorrelationMemory last = memory("last");
  std::vector<CorrelationMemory> intermediate;
  for (size_t k = 0; k < intermediate_.size(); ++k)
    intermediate.push_back(memory(fmt::format("intermediate.{}", k + 1)));
  last_ = std::move(last);
  intermediate_ = std::move(intermediate);
}

}  // namespace tessera
