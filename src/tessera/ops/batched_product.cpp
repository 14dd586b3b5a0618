#include "tessera/ops/batched_product.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "tessera/ops/detail/dispatch.h"
#include "tessera/simd/threads.h"
#include "tessera/tensor/check.h"

// Of OpenBLAS, which the project links by path and without its headers.
extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
void cblas_sgemv(int order, int transpose, int m, int n, float alpha, const float* a, int lda,
                 const float* x, int step_x, float beta, float* y, int step_y);
}

namespace tessera::ops {
namespace {

constexpr int kRowMajor = 101, kAsIs = 111, kTransposed = 112;

/// A batch of matrices [B, rows, columns] as BLAS reads them.
struct Matrices {
  at::Tensor tensor;  ///< keeps the data
  int transpose = kAsIs;
  int stride = 1;  ///< from row to row, or from column to column where transposed

  const float* matrix(int64_t b) const { return tensor.data_ptr<float>() + b * tensor.stride(0); }
};

Matrices as_matrices(const at::Tensor& x) {
  const int64_t rows = x.size(1), columns = x.size(2);
  if (x.stride(2) == 1 && (rows == 1 || x.stride(1) >= columns))
    return {x, kAsIs, static_cast<int>(std::max(columns, rows == 1 ? 1 : x.stride(1)))};
  if (x.stride(1) == 1 && (columns == 1 || x.stride(2) >= rows))
    return {x, kTransposed, static_cast<int>(std::max(rows, columns == 1 ? 1 : x.stride(2)))};
  return {x.contiguous(), kAsIs, static_cast<int>(columns)};
}

void multiply(const at::Tensor& left, const at::Tensor& right, float beta,
              const at::Tensor& product) {
  const Matrices a = as_matrices(left), b = as_matrices(right);
  const auto m = static_cast<int>(left.size(1)), k = static_cast<int>(left.size(2));
  const auto n = static_cast<int>(right.size(2));
  const int64_t work = std::max<int64_t>(int64_t{m} * k * n, 1);
  const auto one = [&](int64_t index) {
    float* c = product.data_ptr<float>() + index * product.stride(0);
    if (n == 1 && product.stride(1) == 1) {
      const bool as_is = a.transpose == kAsIs;
      const int step = b.transpose == kAsIs ? b.stride : 1;
      cblas_sgemv(kRowMajor, a.transpose, as_is ? m : k, as_is ? k : m, 1.0f, a.matrix(index),
                  a.stride, b.matrix(index), step, beta, c, 1);
    } else {
      cblas_sgemm(kRowMajor, a.transpose, b.transpose, m, n, k, 1.0f, a.matrix(index), a.stride,
                  b.matrix(index), b.stride, beta, c, static_cast<int>(product.stride(1)));
    }
  };
  at::parallel_for(0, left.size(0), std::max<int64_t>(simd::kWorthThreads / work, 1),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t index = begin; index < end; ++index) one(index);
                   });
}

class FusedBatchedProduct : public torch::autograd::Function<FusedBatchedProduct> {
 public:
  /// sum: read only if `adds`; any tensor otherwise, as a function of autograd takes no undefined
  /// one.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& a, const at::Tensor& b,
                            const at::Tensor& sum, bool adds) {
    context->save_for_backward({a, b});
    context->saved_data["adds"] = adds;
    const at::Tensor product = adds ? sum.clone(at::MemoryFormat::Contiguous)
                                    : at::empty({a.size(0), a.size(1), b.size(2)}, a.options());
    multiply(a, b, adds ? 1.0f : 0.0f, product);
    return product;
  }

  static variable_list backward(AutogradContext* context, variable_list grad_outputs) {
    check_differentiated_once("batched_product");
    const auto saved = context->get_saved_variables();
    const at::Tensor &a = saved[0], &b = saved[1], &grad = grad_outputs[0];
    const at::Tensor grad_a = at::empty(a.sizes(), a.options());
    const at::Tensor grad_b = at::empty(b.sizes(), b.options());
    multiply(grad, b.transpose(1, 2), 0, grad_a);
    multiply(a.transpose(1, 2), grad, 0, grad_b);
    return {grad_a, grad_b, context->saved_data["adds"].toBool() ? grad : at::Tensor(), {}};
  }
};

}  // namespace

at::Tensor batched_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& sum) {
  check_vectors(a, "batched_product: a");
  check_like(b, {a.size(0), a.size(2), -1}, a, "batched_product: b");
  if (sum.defined()) check_like(sum, {a.size(0), a.size(1), b.size(2)}, a, "batched_product: sum");
  const bool empty = a.numel() == 0 || b.numel() == 0;
  if (loops_run({a, b, sum}) && !empty)
    return FusedBatchedProduct::apply(a, b, sum.defined() ? sum : a, sum.defined());
  return sum.defined() ? at::baddbmm(sum, a, b) : at::bmm(a, b);
}

void write_batched_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& product) {
  multiply(a, b, 0, product);
}

}  // namespace tessera::ops
