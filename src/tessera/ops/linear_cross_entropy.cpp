#include "tessera/ops/linear_cross_entropy.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "tessera/ops/cpu/cross_entropy.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/linear.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// Logits that exist at one time: 4 MiB of floats stay in the cache between the products.
constexpr int64_t kChunkLogits = 1 << 20;
/// Rows of a chunk that are worth reading a large embedding, and its gradient, once more.
constexpr int64_t kChunkRows = 256;

struct Problem {
  at::Tensor hidden;     // [N, C], rounded
  at::Tensor embedding;  // [V, C], rounded; of fewer bits where loops multiply such weights
  bool by_loops;         // whether they do
  Precision precision;   // of their products
  at::Tensor targets;    // [N], 0 where ignored
  at::Tensor counted;    // [N], 1 or 0, in the dtype of sums: short floats are summed as floats
  double logit_scale;
  at::ScalarType dtype;  // of the loss and its gradients
};

Problem prepare(const at::Tensor& hidden, const at::Tensor& embedding, double logit_scale,
                const at::Tensor& targets, int64_t ignore_index, Precision precision) {
  const at::Tensor counted = targets.ne(ignore_index);
  const bool by_loops = loops_multiply_many(hidden, embedding);
  const at::Tensor weights = by_loops ? embedding : as_multiplied_by(hidden, embedding);
  const Precision rounded = by_loops ? Precision::kFloat32 : precision;
  return {operand(hidden, rounded),
          operand(weights, rounded),
          by_loops,
          rounded,
          targets.masked_fill(counted.logical_not(), 0).contiguous(),
          counted.to(hidden.scalar_type() == at::kDouble ? at::kDouble : at::kFloat),
          logit_scale,
          hidden.scalar_type()};
}

int64_t rows_per_chunk(const Problem& problem) {
  return std::max(kChunkLogits / std::max<int64_t>(problem.embedding.size(0), 1), kChunkRows);
}

/// hidden embedding^T for rows [first, first + rows): [rows, V].
at::Tensor products_of(const Problem& problem, int64_t first, int64_t rows) {
  const at::Tensor hidden = problem.hidden.narrow(0, first, rows);
  if (problem.by_loops) return ops::linear(hidden, problem.embedding);
  return at::matmul(hidden, problem.embedding.t()).to(problem.dtype).contiguous();
}

/// What one chunk of rows gives.
struct Chunk {
  at::Tensor losses;         // [rows], 0 where ignored
  at::Tensor grad_products;  // [rows, V], of hidden embedding^T; undefined unless wanted
};

Chunk composed_chunk(const Problem& problem, const at::Tensor& products, const at::Tensor& targets,
                     const at::Tensor& weights, bool wants_gradient) {
  const at::Tensor log_probabilities = (products * problem.logit_scale).log_softmax(1);
  const at::Tensor columns = targets.unsqueeze(1);
  Chunk chunk = {log_probabilities.gather(1, columns).squeeze(1).neg_(), {}};
  if (!wants_gradient) return chunk;
  at::Tensor gradient = log_probabilities.exp();
  gradient.scatter_add_(1, columns, at::full({targets.size(0), 1}, -1.0, gradient.options()));
  chunk.grad_products = gradient.mul_((weights * problem.logit_scale).unsqueeze(1));
  return chunk;
}

Chunk fused_chunk(const Problem& problem, const at::Tensor& products, const at::Tensor& targets,
                  const at::Tensor& weights, bool wants_gradient) {
  const at::Tensor losses = at::empty(weights.sizes(), weights.options());
  cpu::cross_entropy({.rows = products.size(0),
                      .V = products.size(1),
                      .products = products.data_ptr<float>(),
                      .logit_scale = static_cast<float>(problem.logit_scale),
                      .targets = targets.data_ptr<int64_t>(),
                      .weights = floats_of(weights),
                      .wants_gradient = wants_gradient,
                      .losses = losses.data_ptr<float>()});
  return {losses, wants_gradient ? products : at::Tensor()};
}

/// weights [N]: every row's share in the mean, contiguous.
Chunk compute_chunk(const Problem& problem, const at::Tensor& weights, int64_t first, int64_t rows,
                    bool wants_gradient) {
  const at::Tensor products = products_of(problem, first, rows);
  const at::Tensor targets = problem.targets.narrow(0, first, rows);
  const at::Tensor chunk_weights = weights.narrow(0, first, rows);
  const auto compute = loops_run({products, weights}) ? fused_chunk : composed_chunk;
  Chunk chunk = compute(problem, products, targets, chunk_weights, wants_gradient);
  const at::Tensor counted = problem.counted.narrow(0, first, rows);
  chunk.losses = (chunk.losses * counted).masked_fill(counted == 0, 0);  // also where it is NaN
  return chunk;
}

class LinearCrossEntropy : public torch::autograd::Function<LinearCrossEntropy> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden,
                            const at::Tensor& embedding, double logit_scale,
                            const at::Tensor& targets, int64_t ignore_index, Precision precision,
                            bool wants_gradient) {
    const Problem problem =
        prepare(hidden, embedding, logit_scale, targets, ignore_index, precision);
    const at::Tensor weight = problem.counted / problem.counted.sum().clamp_min(1);  // [N]
    at::Tensor loss = at::zeros({}, hidden.options());
    at::Tensor grad_hidden, grad_embedding;
    if (wants_gradient) {
      grad_hidden = at::empty_like(hidden);
      grad_embedding = at::zeros_like(embedding);
    }
    const int64_t N = hidden.size(0), step = rows_per_chunk(problem);
    for (int64_t first = 0; first < N; first += step) {
      const int64_t rows = std::min(step, N - first);
      const Chunk chunk = compute_chunk(problem, weight, first, rows, wants_gradient);
      loss += chunk.losses.dot(weight.narrow(0, first, rows));
      if (!wants_gradient) continue;
      const at::Tensor grad_products = operand(chunk.grad_products, problem.precision);
      grad_hidden.narrow(0, first, rows).copy_(at::matmul(grad_products, problem.embedding));
      add_product(grad_embedding, grad_products.t(), problem.hidden.narrow(0, first, rows));
    }
    context->save_for_backward({grad_hidden, grad_embedding});
    return loss;
  }

  static variable_list backward(AutogradContext* context, variable_list grad_outputs) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "linear_cross_entropy has no second derivatives");
    const auto saved = context->get_saved_variables();
    const at::Tensor& grad_loss = grad_outputs[0];
    return {saved[0] * grad_loss, saved[1] * grad_loss, {}, {}, {}, {}, {}};
  }
};

/// Of functions that torch.func can differentiate, which it cannot a torch::autograd::Function.
at::Tensor composed(const at::Tensor& hidden, const at::Tensor& embedding, double logit_scale,
                    const at::Tensor& targets, int64_t ignore_index, Precision precision) {
  const at::Tensor logits = rounded_matmul(hidden, embedding.t(), precision) * logit_scale;
  const at::Tensor sum =
      at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, ignore_index);
  return sum / targets.ne(ignore_index).sum().clamp_min(1);
}

void check_arguments(const at::Tensor& hidden, const at::Tensor& embedding,
                     const at::Tensor& targets, int64_t ignore_index) {
  check_shape(hidden, {-1, -1}, "linear_cross_entropy: hidden");
  check_weight(embedding, {-1, hidden.size(1)}, hidden, "linear_cross_entropy: embedding");
  check_shape(targets, {hidden.size(0)}, "linear_cross_entropy: targets");
  TESSERA_CHECK(embedding.size(0) > 0, "linear_cross_entropy: the embedding has no rows");
  TESSERA_CHECK(targets.scalar_type() == at::kLong && targets.device() == hidden.device(),
                "linear_cross_entropy: targets are ", targets.scalar_type(), " on ",
                targets.device(), ", expected int64 on ", hidden.device());
  if (!targets.is_cpu()) return;  // to look at the values, the host would wait for the device
  const at::Tensor bad =
      targets.ne(ignore_index).logical_and(targets.lt(0).logical_or(targets.ge(embedding.size(0))));
  TESSERA_CHECK(!bad.any().item<bool>(), "linear_cross_entropy: target ",
                targets.masked_select(bad)[0].item<int64_t>(), " lies outside [0, ",
                embedding.size(0), "); mark rows to skip with ", ignore_index);
}

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& embedding,
                                double logit_scale, const at::Tensor& targets, int64_t ignore_index,
                                Precision precision) {
  check_arguments(hidden, embedding, targets, ignore_index);
  TESSERA_CHECK(embedding.scalar_type() == hidden.scalar_type(),
                "linear_cross_entropy: an embedding of ", embedding.scalar_type(),
                " has no gradient; expected ", hidden.scalar_type(),
                ", or take linear_cross_entropy_per_row");
  if (is_transformed(hidden) || is_transformed(embedding))
    return composed(hidden, embedding, logit_scale, targets, ignore_index, precision);
  const bool wants_gradient =
      at::GradMode::is_enabled() && (hidden.requires_grad() || embedding.requires_grad());
  return LinearCrossEntropy::apply(hidden, embedding, logit_scale, targets, ignore_index, precision,
                                   wants_gradient);
}

at::Tensor linear_cross_entropy_per_row(const at::Tensor& hidden, const at::Tensor& embedding,
                                        double logit_scale, const at::Tensor& targets,
                                        int64_t ignore_index, Precision precision) {
  check_arguments(hidden, embedding, targets, ignore_index);
  at::NoGradGuard no_grad;
  const Problem problem = prepare(hidden, embedding, logit_scale, targets, ignore_index, precision);
  const int64_t N = hidden.size(0), step = rows_per_chunk(problem);
  at::Tensor losses = at::empty({N}, hidden.options());
  for (int64_t first = 0; first < N; first += step) {
    const int64_t rows = std::min(step, N - first);
    losses.narrow(0, first, rows)
        .copy_(compute_chunk(problem, problem.counted, first, rows, false).losses);
  }
  return losses;
}

}  // namespace tessera::ops
