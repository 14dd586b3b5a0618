#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "tessera/memory/correlation_memory.h"
#include "tessera/model/initialisation.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

/// How h vectors become the one vector that represents their sequence. kJlt: joined and projected
/// by a Gaussian Prj (the paper); kProduct: multiplied component by component and brought to length
/// 1, whatever their order (the authors' code since 7 February 2025).
enum class SequenceEncoding { kJlt, kProduct };
constexpr std::array<std::string_view, 2> enum_names(SequenceEncoding) {
  return {"jlt", "product"};
}

/// Which windows of a text are memorized. kBlocks: those that follow one another without overlap
/// (the paper's Flat_h and Sel_h); kEveryPosition: one that ends at every token (the authors' code
/// since 14 January 2025).
enum class MemoWindows { kBlocks, kEveryPosition };
constexpr std::array<std::string_view, 2> enum_names(MemoWindows) {
  return {"blocks", "every-position"};
}

/// The W_V that projects a vector into its slot of a key. kGaussian: as published; kOrthonormal:
/// columns of length 1 at right angles, which make a quarter less noise for h = 4.
enum class SlotProjection { kGaussian, kOrthonormal };
constexpr std::array<std::string_view, 2> enum_names(SlotProjection) {
  return {"gaussian", "orthonormal"};
}

struct MemoConfig {
  int64_t vocabulary = 50257;
  int64_t dimension = 1024;
  int64_t heads = 4;
  int64_t layers = 3;
  SequenceEncoding encoding = SequenceEncoding::kProduct;
  MemoWindows windows = MemoWindows::kEveryPosition;
  SlotProjection projection = SlotProjection::kGaussian;
  double alpha = 1;
  bool penalties = true;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vocabulary", vocabulary, "number of tokens, V", kSizes);
    field("dimension", dimension, "width of all vectors, d", kSizes);
    field("heads", heads, "slots of a key, h; divides dimension", kCounts);
    field("layers", layers, "l: windows of h, h^2, ..., h^l tokens", config::between(1, 20));
    field("encoding", encoding, "how h vectors become one");
    field("windows", windows, "which windows of a text are memorized");
    field("projection", projection, "the matrix that projects a vector into its slot");
    field("alpha", alpha,
          "share of the computed sequence encodings when reading, the rest is retrieved from the "
          "intermediate memories: 0 in the paper, 1 (no such memories) in the authors' last code",
          config::between(0, 1));
    field("penalties", penalties, "store a sequence's encoding once only (the paper's Phi)");
  }

  /// Tokens of the longest window, h^l.
  int64_t longest_window() const;
  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// MeMo: a language model of correlation memories that memorizes text in one pass (Zanzotto et al.
/// 2025, sec. 3). A row of T tokens writes, for k = 1, ..., l, the key of its windows of h^k tokens
/// with the token that follows; reading adds up the keys of the last h, h^2, ..., h^l tokens, so
/// that a stored continuation scores about l. Its codes are random and fixed.
/// Members throw UsageError on token ids that are not kLong [B, T] inside the vocabulary, and
/// leave the memories as they were.
class Memo {
 public:
  /// Draws the codes from `seed`; the memories are empty. Throws UsageError.
  Memo(const MemoConfig& config, uint64_t seed);

  /// Writes every row of tokens [B, T] and returns the pairs written; rows shorter than h + 1
  /// tokens write none.
  int64_t memorize(const at::Tensor& tokens);
  /// Takes the rows out of C^(last) again, up to rounding; the intermediate memories keep them, as
  /// published. Exact forgetting is TextMemory's.
  int64_t forget(const at::Tensor& tokens);

  /// Scores [B, V] of the token that comes after contexts [B, n], n >= 1: of their last h^l tokens,
  /// with zero vectors before shorter ones.
  at::Tensor retrieve(const at::Tensor& contexts) const;
  /// O^(last) [B, T, d] after every token of tokens [B, T]: emit(read(tokens))[:, i] is
  /// retrieve(tokens[:, :i + 1]).
  at::Tensor read(const at::Tensor& tokens) const;
  /// What read() asks C^(last) for [B, T, d]: the keys of the windows of h, h^2, ..., h^l tokens
  /// that end at each token, added up.
  at::Tensor keys(const at::Tensor& tokens) const;
  /// E y, the scores [..., V] of outputs y [..., d] (eq. 4).
  at::Tensor emit(const at::Tensor& outputs) const;

  const MemoConfig& configuration() const { return config_; }
  /// Numbers in the memories: d^2 for C^(last) and each intermediate one (the paper's NoP).
  int64_t parameters() const;
  const at::Tensor& embeddings() const { return embeddings_; }  ///< E [V, d]
  /// W_V^(k) [d, d / h] and Prj^(k) [h, d, d], k from 1; Prj with encoding kJlt and k < l alone.
  const at::Tensor& slot_projection(int64_t layer) const { return projections_.at(layer - 1); }
  const at::Tensor& sequence_projection(int64_t layer) const { return encoders_.at(layer - 1); }
  const CorrelationMemory& last_memory() const { return last_; }  ///< C^(last)
  /// C^(k), 1 <= k < l; there are none with alpha = 1.
  const CorrelationMemory& intermediate_memory(int64_t layer) const {
    return intermediate_.at(layer - 1);
  }

  /// The memories for a file ("last", "intermediate.1", ...), and back into a model of the same
  /// configuration and seed. Throws DataError where the file's tensors do not fit.
  NamedTensors memories() const;
  void restore(const TensorFile& file);

 private:
  struct Pairs {
    at::Tensor keys, values;  // [n, d]
    int64_t count = 0;        // pairs in them: keys of several layers are added up
  };
  using LayerVisitor =
      std::function<void(int64_t layer, const at::Tensor& keys, const at::Tensor& encodings)>;

  at::Tensor embed(const at::Tensor& tokens, const char* function) const;
  at::Tensor keys_of(const at::Tensor& x, int64_t layer, MemoWindows windows) const;
  at::Tensor encode(const at::Tensor& x, int64_t layer, MemoWindows windows) const;
  Pairs last_pairs(const at::Tensor& tokens, const char* function,
                   const LayerVisitor& visit = {}) const;
  at::Tensor penalties_of(int64_t layer, const at::Tensor& keys, const at::Tensor& encodings) const;
  at::Tensor query(at::Tensor x, MemoWindows windows, int64_t count) const;

  MemoConfig config_;
  at::Tensor embeddings_;
  std::vector<at::Tensor> projections_, encoders_;
  CorrelationMemory last_;
  std::vector<CorrelationMemory> intermediate_;
};

}  // namespace tessera
