#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

namespace tessera::bench {

/// Zanzotto et al. 2025, sec. 3.2, in float tensor functions as the authors' code computes it: the
/// product encoding, alpha = 1, all layers into one C, windows of every position laid out as
/// [B, n, h, d]; recall projects all blocks of the chunk anew for every token.
class AuthorsMemo {
 public:
  AuthorsMemo(int64_t d, int64_t heads, int64_t layers, int64_t vocabulary)
      : h_(heads), tokens_(at::randn({vocabulary, d}) / std::sqrt(d)), c_(at::zeros({d, d})) {
    for (int64_t k = 0; k < layers; ++k)
      projections_.push_back(at::randn({d, d / h_}) / std::sqrt(d / h_) / std::sqrt(h_));
  }

  /// rows [B, L + 1] of token ids.
  void memorize(const at::Tensor& rows) {
    const int64_t L = rows.size(1) - 1, d = tokens_.size(1);
    at::Tensor x = at::embedding(tokens_, rows);  // [B, L + 1, d]
    const at::Tensor targets = x;
    int64_t part = 1;
    for (const at::Tensor& projection : projections_) {
      const int64_t window = part * h_, count = L - window + 1;
      std::vector<at::Tensor> parts;
      for (int64_t m = 0; m < h_; ++m) parts.push_back(x.narrow(1, m * part, count));
      const at::Tensor windows = at::stack(parts, 2);            // [B, n, h, d]
      const at::Tensor keys = at::matmul(windows, projection);   // [B, n, h, d / h]
      const at::Tensor next = targets.narrow(1, window, count);  // [B, n, d]
      c_.addmm_(keys.reshape({-1, d}).t(), next.reshape({-1, d}));
      x = unit(windows.prod(2));  // [B, n, d]
      part = window;
    }
  }

  /// chunks [B, h^l] -> the next tokens [B].
  at::Tensor recall(const at::Tensor& chunks) const {
    const int64_t B = chunks.size(0), d = tokens_.size(1);
    at::Tensor x = at::embedding(tokens_, chunks);  // [B, h^l, d]
    at::Tensor query = at::zeros({B, d});
    for (const at::Tensor& projection : projections_) {
      const at::Tensor blocks = x.view({B, -1, h_, d});
      const at::Tensor keys = at::matmul(blocks, projection).reshape({B, -1, d});
      query += keys.select(1, keys.size(1) - 1);
      x = unit(blocks.prod(2));
    }
    return at::matmul(at::matmul(query, c_), tokens_.t()).argmax(1);
  }

 private:
  static at::Tensor unit(const at::Tensor& x) { return x / x.norm(2, {-1}, true); }

  int64_t h_;
  at::Tensor tokens_;                    // E [V, d]
  std::vector<at::Tensor> projections_;  // W_k [d, d / h]
  at::Tensor c_;                         // [d, d]
};

}  // namespace tessera::bench
