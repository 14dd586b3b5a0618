#include "lab/theory/associative_model.h"

#include <cmath>
#include <map>
#include <numeric>

#include "lab/theory/dense_products.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

constexpr uint64_t kMemoryStream = 3;
constexpr double kNormFloor = 1e-6;

std::vector<float> scaled_field(uint64_t seed, uint64_t stream, int64_t rows, int64_t dimension) {
  std::vector<float> values = gaussian_rows(rows, dimension, seed, stream);
  const float scale = 1 / std::sqrt(static_cast<float>(dimension));
  for (float& value : values) value *= scale;
  return values;
}

template <typename T>
void check_model(const AssociationTask& task, const AssociativeModel<T>& model,
                 const char* function) {
  const size_t d = model.dimension;
  check_argument(d >= 1 && model.memory.size() == d * d &&
                     model.inputs.size() == task.law.size() * d &&
                     model.outputs.size() == task.outputs * d,
                 "{}: W has {}, e {} and u {} entries, which do not fit N = {}, M = {}, d = {}",
                 function, model.memory.size(), model.inputs.size(), model.outputs.size(),
                 task.inputs(), task.outputs, model.dimension);
}

void check_batch(const AssociationTask& task, const WeightedBatch& batch) {
  check_argument(batch.inputs.size() == batch.weights.size(),
                 "model_gradient: a batch of {} inputs and {} weights", batch.inputs.size(),
                 batch.weights.size());
  for (const int32_t x : batch.inputs)
    check_argument(x >= 0 && x < task.inputs(), "model_gradient: input {} of {}", x, task.inputs());
}

/// v / sqrt(v . v + 1e-6), row by row; returns the roots.
template <typename T>
std::vector<T> normalise_rows(std::vector<T>& v, int64_t rows, int64_t d) {
  std::vector<T> roots(rows);
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
    T* line = gradient.data() + row * d;
    const T* v = unit.data() + row * d;
    const T along = std::inner_product(line, line + d, v, T{0});
    for (int64_t j = 0; j < d; ++j) line[j] = (line[j] - along * v[j]) / roots[row];
  }
}

/// What a model reads for a batch.
template <typename T>
struct BatchReads {
  std::vector<T> inputs;  // e_x, X [rows, d]
  std::vector<T> reads;   // v = W e_x, or v / |v| [rows, d]; empty where the logits alone are asked
  std::vector<T> roots;   // |v| with layer norm
  std::vector<T> logits;  // [rows, M]
};

template <typename T>
BatchReads<T> read_batch(const AssociationTask& task, const AssociativeModel<T>& model,
                         const WeightedBatch& batch, const GradientOptions& options) {
  const auto rows = std::ssize(batch.inputs);
  const int64_t d = model.dimension, M = task.outputs;
  const T *W = model.memory.data(), *u = model.outputs.data();
  BatchReads<T> read;
  for (const int32_t x : batch.inputs)
    read.inputs.insert(read.inputs.end(), model.inputs.begin() + x * d,
                       model.inputs.begin() + (x + 1) * d);
  if (options.layer_norm || options.outputs) {
    read.reads = product_with_transposed(rows, d, d, read.inputs.data(), W);
    if (options.layer_norm) read.roots = normalise_rows(read.reads, rows, d);
    read.logits = product_with_transposed(rows, M, d, read.reads.data(), u);
  } else {
    const auto through = product(M, d, d, u, W);  // u_y^T W
    read.logits = product_with_transposed(rows, M, d, read.inputs.data(), through.data());
  }
  return read;
}

}  // namespace

AssociativeModel<float> random_model(const AssociationTask& task, int64_t dimension,
                                     OutputScale scale, uint64_t seed) {
  check_argument(dimension >= 1, "random_model: dimension {}; at least 1 is needed", dimension);
  AssociativeModel<float> model{
      .dimension = dimension,
      .memory = std::vector<float>(dimension * dimension, 0.0f),
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
  return product_with_transposed(count, count, d, rows.data(), rows.data());
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
  check_model(task, model, "model_gradient");
  check_batch(task, batch);
  const auto rows = std::ssize(batch.inputs);
  const int64_t d = model.dimension, M = task.outputs;
  const T *W = model.memory.data(), *u = model.outputs.data();
  BatchReads<T> read = read_batch(task, model, batch, options);
  ModelGradient<T> gradient;
  std::vector<T>& residuals = read.logits;  // become C [rows, M]
  for (int64_t row = 0; row < rows; ++row) {
    const float weight = batch.weights[row];
    gradient.loss += weight * softmax_residual(std::span(residuals).subspan(row * M, M),
                                               task.output[batch.inputs[row]], T{weight});
  }

  std::vector<T> at_read;  // dL/dv [rows, d]
  if (options.inputs || options.layer_norm) at_read = product(rows, d, M, residuals.data(), u);
  if (options.layer_norm) through_norm(at_read, read.reads, read.roots, d);

  if (options.outputs)
    gradient.outputs = transposed_product(M, d, rows, residuals.data(), read.reads.data());
  if (options.memory && options.layer_norm)
    gradient.memory = transposed_product(d, d, rows, at_read.data(), read.inputs.data());
  if (options.memory && !options.layer_norm) {  // U^T (C^T X)
    const auto sums = transposed_product(M, d, rows, residuals.data(), read.inputs.data());
    gradient.memory = transposed_product(d, d, M, u, sums.data());
  }
  if (options.inputs) gradient.inputs = product(rows, d, d, at_read.data(), W);
  return gradient;
}

std::vector<float> model_scores(const AssociationTask& task, const AssociativeModel<float>& model) {
  check_model(task, model, "model_scores");
  const int64_t d = model.dimension, M = task.outputs;
  const auto through = product(M, d, d, model.outputs.data(), model.memory.data());
  return product_with_transposed(task.inputs(), M, d, model.inputs.data(), through.data());
}

template ModelGradient<float> model_gradient(const AssociationTask&, const AssociativeModel<float>&,
                                             const WeightedBatch&, const GradientOptions&);
template ModelGradient<double> model_gradient(const AssociationTask&,
                                              const AssociativeModel<double>&, const WeightedBatch&,
                                              const GradientOptions&);

}  // namespace tessera::theory
