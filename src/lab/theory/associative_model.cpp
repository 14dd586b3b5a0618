#include "lab/theory/associative_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/plan/blas.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

constexpr uint64_t kMemoryStream = 3;
constexpr double kNormFloor = 1e-6;

std::vector<float> scaled_field(uint64_t seed, uint64_t stream, int64_t rows, int64_t dimension) {
  std::vector<float> values(static_cast<size_t>(rows * dimension));
  GaussianField(seed, stream).fill(0, rows, 0, dimension, values.data(), dimension);
  const float scale = 1 / std::sqrt(static_cast<float>(dimension));
  for (float& value : values) value *= scale;
  return values;
}

template <typename T>
void check_model(const AssociationTask& task, const AssociativeModel<T>& model,
                 const WeightedBatch& batch) {
  const auto d = static_cast<size_t>(model.dimension);
  check_argument(d >= 1 && model.memory.size() == d * d &&
                     model.inputs.size() == task.law.size() * d &&
                     model.outputs.size() == static_cast<size_t>(task.outputs) * d,
                 "model_gradient: W has {}, e {} and u {} entries, which do not fit N = {}, M = "
                 "{}, d = {}",
                 model.memory.size(), model.inputs.size(), model.outputs.size(), task.inputs(),
                 task.outputs, model.dimension);
  check_argument(batch.inputs.size() == batch.weights.size(),
                 "model_gradient: a batch of {} inputs and {} weights", batch.inputs.size(),
                 batch.weights.size());
  for (const int32_t x : batch.inputs)
    check_argument(x >= 0 && x < task.inputs(), "model_gradient: input {} of {}", x, task.inputs());
}

/// Turns the logits [rows, M] into weight * (p - onehot(f(x))); returns the loss.
template <typename T>
double softmax_residuals(const AssociationTask& task, const WeightedBatch& batch,
                         std::vector<T>& logits) {
  double loss = 0;
  const size_t outputs = static_cast<size_t>(task.outputs);
  for (size_t row = 0; row < batch.inputs.size(); ++row) {
    T* line = logits.data() + row * outputs;
    const int32_t right = task.output[batch.inputs[row]];
    const T largest = *std::max_element(line, line + outputs), right_logit = line[right];
    T total = 0;
    for (size_t y = 0; y < outputs; ++y) total += line[y] = std::exp(line[y] - largest);
    loss += batch.weights[row] * (std::log(double{total}) - double{right_logit - largest});
    for (size_t y = 0; y < outputs; ++y) line[y] *= static_cast<T>(batch.weights[row]) / total;
    line[right] -= static_cast<T>(batch.weights[row]);
  }
  return loss;
}

/// v / sqrt(v . v + 1e-6), row by row; returns the roots.
template <typename T>
std::vector<T> normalise_rows(std::vector<T>& v, int64_t rows, int64_t d) {
  std::vector<T> roots(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    T* line = v.data() + row * d;
    roots[row] = std::sqrt(std::inner_product(line, line + d, line, static_cast<T>(kNormFloor)));
    for (int64_t j = 0; j < d; ++j) line[j] /= roots[row];
  }
  return roots;
}

/// (21): from the gradient at v / |v| to the gradient at v, in place.
template <typename T>
void through_norm(std::vector<T>& gradient, const std::vector<T>& unit, const std::vector<T>& roots,
                  int64_t d) {
  for (size_t row = 0; row < roots.size(); ++row) {
    T* line = gradient.data() + static_cast<int64_t>(row) * d;
    const T* v = unit.data() + static_cast<int64_t>(row) * d;
    const T along = std::inner_product(line, line + d, v, T{0});
    for (int64_t j = 0; j < d; ++j) line[j] = (line[j] - along * v[j]) / roots[row];
  }
}

}  // namespace

AssociativeModel<float> random_model(const AssociationTask& task, int64_t dimension,
                                     OutputScale scale, uint64_t seed) {
  check_argument(dimension >= 1, "random_model: dimension {}; at least 1 is needed", dimension);
  AssociativeModel<float> model{
      .dimension = dimension,
      .memory = std::vector<float>(static_cast<size_t>(dimension * dimension), 0.0f),
      .inputs = scaled_field(seed, kInputStream, task.inputs(), dimension),
      .outputs = scaled_field(seed, kOutputStream, task.outputs, dimension)};
  if (scale == OutputScale::kUnit) {
    for (int32_t y = 0; y < task.outputs; ++y) {
      float* line = model.outputs.data() + y * dimension;
      const double length = std::sqrt(std::inner_product(line, line + dimension, line, 0.0));
      for (int64_t j = 0; j < dimension; ++j) line[j] = static_cast<float>(line[j] / length);
    }
  }
  return model;
}

std::vector<float> random_memory(int64_t dimension, uint64_t seed) {
  return scaled_field(seed, kMemoryStream, dimension, dimension);
}

std::vector<float> gram_matrix(std::span<const float> rows, int64_t count, int64_t d) {
  std::vector<float> products(static_cast<size_t>(count * count));
  // BLAS wants a row to have a length, also where there is no row.
  multiply_transposed(count, count, d, rows.data(), d, rows.data(), d, 0.0f, products.data(),
                      std::max<int64_t>(count, 1));
  return products;
}

WeightedBatch weighted_batch(std::span<const int32_t> draws) {
  std::map<int32_t, int64_t> counts;
  for (const int32_t x : draws) ++counts[x];
  WeightedBatch batch;
  for (const auto& [x, count] : counts) {
    batch.inputs.push_back(x);
    batch.weights.push_back(static_cast<float>(count) / static_cast<float>(draws.size()));
  }
  return batch;
}

WeightedBatch population_batch(const AssociationTask& task) {
  return {.inputs = consecutive<int32_t>(task.inputs()),
          .weights = std::vector<float>(task.law.begin(), task.law.end())};
}

template <typename T>
ModelGradient<T> model_gradient(const AssociationTask& task, const AssociativeModel<T>& model,
                                const WeightedBatch& batch, const GradientOptions& options) {
  check_model(task, model, batch);
  const auto rows = static_cast<int64_t>(batch.inputs.size());
  const int64_t d = model.dimension, M = task.outputs;
  const T *W = model.memory.data(), *u = model.outputs.data();
  std::vector<T> x(static_cast<size_t>(rows * d));  // [rows, d]
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(model.inputs.begin() + batch.inputs[row] * d, d, x.begin() + row * d);

  const bool needs_read = options.layer_norm || options.outputs;
  std::vector<T> read, roots, logits(static_cast<size_t>(rows * M));  // v = W e_x [rows, d]
  std::vector<T> through(static_cast<size_t>(M * d));                 // u_y^T W [M, d]
  if (needs_read) {
    read.resize(x.size());
    multiply_transposed(rows, d, d, x.data(), d, W, d, T{0}, read.data(), d);
    if (options.layer_norm) roots = normalise_rows(read, rows, d);
    multiply_transposed(rows, M, d, read.data(), d, u, d, T{0}, logits.data(), M);
  } else {
    multiply(M, d, d, u, d, W, d, T{0}, through.data(), d);
    multiply_transposed(rows, M, d, x.data(), d, through.data(), d, T{0}, logits.data(), M);
  }

  ModelGradient<T> gradient;
  gradient.loss = softmax_residuals(task, batch, logits);
  if (options.outputs) {
    gradient.outputs.resize(model.outputs.size());
    transposed_multiply(M, d, rows, logits.data(), M, read.data(), d, T{0}, gradient.outputs.data(),
                        d);
  }
  if (options.memory && !options.layer_norm) {
    // U^T (C^T X): [M, d], then [d, d].
    std::vector<T> sums(static_cast<size_t>(M * d));
    transposed_multiply(M, d, rows, logits.data(), M, x.data(), d, T{0}, sums.data(), d);
    gradient.memory.resize(model.memory.size());
    transposed_multiply(d, d, M, u, d, sums.data(), d, T{0}, gradient.memory.data(), d);
  }
  if (!options.inputs && !options.layer_norm) return gradient;

  std::vector<T> at_read(x.size());  // dL/dv [rows, d]
  multiply(rows, d, M, logits.data(), M, u, d, T{0}, at_read.data(), d);
  if (options.layer_norm) {
    through_norm(at_read, read, roots, d);
    if (options.memory) {
      gradient.memory.resize(model.memory.size());
      transposed_multiply(d, d, rows, at_read.data(), d, x.data(), d, T{0}, gradient.memory.data(),
                          d);
    }
  }
  if (options.inputs) {
    gradient.inputs.resize(x.size());
    multiply(rows, d, d, at_read.data(), d, W, d, T{0}, gradient.inputs.data(), d);
  }
  return gradient;
}

template <typename T>
std::vector<T> model_scores(const AssociationTask& task, const AssociativeModel<T>& model) {
  const int64_t d = model.dimension, M = task.outputs, N = task.inputs();
  std::vector<T> through(static_cast<size_t>(M * d)), scores(static_cast<size_t>(N * M));
  multiply(M, d, d, model.outputs.data(), d, model.memory.data(), d, T{0}, through.data(), d);
  multiply_transposed(N, M, d, model.inputs.data(), d, through.data(), d, T{0}, scores.data(), M);
  return scores;
}

template ModelGradient<float> model_gradient(const AssociationTask&, const AssociativeModel<float>&,
                                             const WeightedBatch&, const GradientOptions&);
template ModelGradient<double> model_gradient(const AssociationTask&,
                                              const AssociativeModel<double>&, const WeightedBatch&,
                                              const GradientOptions&);
template std::vector<float> model_scores(const AssociationTask&, const AssociativeModel<float>&);
template std::vector<double> model_scores(const AssociationTask&, const AssociativeModel<double>&);

}  // namespace tessera::theory
