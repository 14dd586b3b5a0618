#include "tessera/plan/population_error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tessera/base/error.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/parallel.h"

namespace tessera::theory {
namespace {

constexpr int64_t kBlockEntries = int64_t{1} << 20;     // embeddings in hand per thread
constexpr int64_t kResidentEntries = int64_t{1} << 23;  // below this, drawn once and kept

/// Probability of the inputs first, …, first + rows - 1 whose largest logit is not f(x).
double misread_mass(const AssociationTask& task, int64_t first, int64_t rows, const float* logits) {
  double error = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float* line = logits + row * task.outputs;
    const auto answer = std::max_element(line, line + task.outputs) - line;
    if (answer != task.output[first + row]) error += task.law[first + row];
  }
  return error;
}

/// The embeddings e_x, all kept or drawn again block by block.
class InputEmbeddings {
 public:
  InputEmbeddings(int64_t inputs, int64_t dimension, uint64_t seed)
      : field_(seed, kInputStream), dimension_(dimension) {
    if (inputs * dimension > kResidentEntries) return;
    resident_.resize(inputs * dimension);
    parallel_for((inputs + kRows - 1) / kRows, [&](int64_t block) {
      const int64_t first = block * kRows;
      field_.fill(first, std::min(kRows, inputs - first), 0, dimension,
                  resident_.data() + first * dimension, dimension);
    });
  }

  int64_t dimension() const { return dimension_; }
  int64_t rows_per_block() const {
    return std::clamp<int64_t>(kBlockEntries / dimension_, 16, 4096);
  }

  /// Rows [first, first + rows), columns [column, column + columns), and their stride. `scratch`
  /// receives them where they are not kept.
  std::pair<const float*, int64_t> block(int64_t first, int64_t rows, int64_t column,
                                         int64_t columns, std::vector<float>& scratch) const {
    if (!resident_.empty()) return {resident_.data() + first * dimension_ + column, dimension_};
    scratch.resize(rows * columns);
    field_.fill(first, rows, column, columns, scratch.data(), columns);
    return {scratch.data(), columns};
  }

 private:
  static constexpr int64_t kRows = 256;
  GaussianField field_;
  int64_t dimension_;
  std::vector<float> resident_;  // [N, d] or empty
};

/// Class sums v_y = sum over f(x) = y of q(x) e_x of every memory: [memory][M, d]. Threads share
/// the columns, so each sum runs over x in order.
std::vector<std::vector<float>> class_sums(const AssociationTask& task,
                                           std::span<const SimulatedMemory> memories,
                                           const InputEmbeddings& inputs,
                                           const std::stop_token& stop) {
  constexpr int64_t kTile = GaussianField::kTileColumns, kRows = 512;
  const int64_t dimension = inputs.dimension();
  std::vector<std::vector<float>> sums(memories.size());
  std::vector<uint8_t> needed(task.inputs(), 0);
  for (size_t k = 0; k < memories.size(); ++k) {
    sums[k].assign(task.outputs * dimension, 0.0f);
    for (int64_t x = 0; x < task.inputs(); ++x) needed[x] |= memories[k].weights[x] != 0.0f;
  }
  const auto add_tile = [&](int64_t tile) {
    const int64_t column = tile * kTile, columns = std::min(kTile, dimension - column);
    std::vector<float> scratch;
    for (int64_t first = 0; first < task.inputs(); first += kRows) {
      const int64_t rows = std::min(kRows, task.inputs() - first);
      if (std::none_of(needed.begin() + first, needed.begin() + first + rows,
                       [](uint8_t used) { return used; }))
        continue;
      const auto [block, stride] = inputs.block(first, rows, column, columns, scratch);
      for (size_t k = 0; k < memories.size(); ++k) {
        for (int64_t row = 0; row < rows; ++row) {
          const float weight = memories[k].weights[first + row];
          if (weight == 0.0f) continue;
          float* sum = sums[k].data() + task.output[first + row] * dimension + column;
          const float* embedding = block + row * stride;
          for (int64_t j = 0; j < columns; ++j) sum[j] += weight * embedding[j];
        }
      }
    }
  };
  parallel_for((dimension + kTile - 1) / kTile, add_tile, stop);
  return sums;
}

/// Turns the class sums of one memory and dimension into logits of any block of inputs.
class Decoder {
 public:
  /// sums [M, stride], of which the first d columns count; u [M, d].
  Decoder(const float* sums, int64_t stride, std::vector<float> u, int32_t outputs,
          int64_t dimension)
      : sums_(sums), stride_(stride), u_(std::move(u)), outputs_(outputs), dimension_(dimension) {
    if (aggregates()) {
      gram_.resize(static_cast<size_t>(outputs) * outputs);
      multiply_transposed(outputs, outputs, dimension, u_.data(), dimension, u_.data(), dimension,
                          0.0f, gram_.data(), outputs);
      return;
    }
    // W^T = V^T U, [d, d]; V^T is written out because both factors must share their layout.
    std::vector<float> transposed(dimension * outputs);
    for (int32_t y = 0; y < outputs; ++y)
      for (int64_t j = 0; j < dimension; ++j) transposed[j * outputs + y] = sums[y * stride + j];
    matrix_.resize(dimension * dimension);
    multiply(dimension, dimension, outputs, transposed.data(), outputs, u_.data(), dimension, 0.0f,
             matrix_.data(), dimension);
  }

  bool aggregates() const { return outputs_ < dimension_; }
  const float* sums() const { return sums_; }
  int64_t stride() const { return stride_; }
  int64_t dimension() const { return dimension_; }

  /// Logits [rows, M] from the products E V^T [rows, M] over all d columns.
  void decode_products(int64_t rows, const float* products, float* logits) const {
    multiply(rows, outputs_, outputs_, products, outputs_, gram_.data(), outputs_, 0.0f, logits,
             outputs_);
  }

  /// Logits [rows, M] from embeddings [rows, d] through W.
  void decode_embeddings(int64_t rows, const float* block, int64_t stride,
                         std::vector<float>& scratch, float* logits) const {
    scratch.resize(rows * dimension_);
    multiply(rows, dimension_, dimension_, block, stride, matrix_.data(), dimension_, 0.0f,
             scratch.data(), dimension_);
    multiply_transposed(rows, outputs_, dimension_, scratch.data(), dimension_, u_.data(),
                        dimension_, 0.0f, logits, outputs_);
  }

 private:
  const float* sums_;
  int64_t stride_;
  std::vector<float> u_, gram_, matrix_;
  int32_t outputs_;
  int64_t dimension_;
};

/// Errors of one memory on one block of inputs, dimension by dimension: the products grow by the
/// columns between two dimensions.
void add_block_errors(const AssociationTask& task, const std::vector<Decoder>& decoders,
                      int64_t first, int64_t rows, const float* block, int64_t stride,
                      double* errors) {
  std::vector<float> products(rows * task.outputs, 0.0f);
  std::vector<float> logits(products.size()), scratch;
  int64_t done = 0;
  for (size_t k = 0; k < decoders.size(); ++k) {
    const Decoder& decoder = decoders[k];
    if (decoder.aggregates()) {
      multiply_transposed(rows, task.outputs, decoder.dimension() - done, block + done, stride,
                          decoder.sums() + done, decoder.stride(), 1.0f, products.data(),
                          task.outputs);
      done = decoder.dimension();
      decoder.decode_products(rows, products.data(), logits.data());
    } else {
      decoder.decode_embeddings(rows, block, stride, scratch, logits.data());
    }
    errors[k] += misread_mass(task, first, rows, logits.data());
  }
}

void check_memory(const AssociationTask& task, const SimulatedMemory& memory) {
  check_argument(memory.weights.size() == task.law.size(),
                 "population_errors: {} weights for {} inputs", memory.weights.size(),
                 task.law.size());
  int64_t previous = 0;
  for (const int64_t dimension : memory.dimensions) {
    check_argument(dimension > previous,
                   "population_errors: dimension {} after {}; they must be positive and ascending",
                   dimension, previous);
    previous = dimension;
  }
}

}  // namespace

std::vector<float> random_directions(int64_t count, int64_t dimension, uint64_t seed,
                                     uint64_t stream) {
  check_argument(count >= 0 && dimension >= 1, "random_directions: {} vectors in {} dimensions",
                 count, dimension);
  std::vector<float> u = gaussian_rows(count, dimension, seed, stream);
  for (int64_t z = 0; z < count; ++z) {
    float* line = u.data() + z * dimension;
    const double length = std::sqrt(std::inner_product(line, line + dimension, line, 0.0));
    for (int64_t j = 0; j < dimension; ++j) line[j] = static_cast<float>(line[j] / length);
  }
  return u;
}

std::vector<std::vector<double>> population_errors(const AssociationTask& task,
                                                   std::span<const SimulatedMemory> memories,
                                                   uint64_t seed, const std::stop_token& stop) {
  int64_t widest = 0;
  for (const SimulatedMemory& memory : memories) {
    check_memory(task, memory);
    if (!memory.dimensions.empty()) widest = std::max(widest, memory.dimensions.back());
  }
  std::vector<std::vector<double>> errors(memories.size());
  if (widest == 0) return errors;

  const SerialBlas serial_blas;
  const InputEmbeddings inputs(task.inputs(), widest, seed);
  const auto sums = class_sums(task, memories, inputs, stop);
  std::vector<std::vector<Decoder>> decoders(memories.size());
  std::vector<size_t> offset(memories.size() + 1, 0);
  for (size_t k = 0; k < memories.size(); ++k) {
    for (const int64_t d : memories[k].dimensions)
      decoders[k].emplace_back(sums[k].data(), widest,
                               random_directions(task.outputs, d, seed, kOutputStream),
                               task.outputs, d);
    offset[k + 1] = offset[k] + memories[k].dimensions.size();
  }

  const int64_t block_rows = inputs.rows_per_block();
  const int64_t blocks = (task.inputs() + block_rows - 1) / block_rows;
  std::vector<std::vector<double>> partial(blocks);
  const auto read_block = [&](int64_t b) {
    const int64_t first = b * block_rows, rows = std::min(block_rows, task.inputs() - first);
    std::vector<float> scratch;
    const auto [block, stride] = inputs.block(first, rows, 0, widest, scratch);
    partial[b].assign(offset.back(), 0.0);
    for (size_t k = 0; k < memories.size(); ++k)
      add_block_errors(task, decoders[k], first, rows, block, stride,
                       partial[b].data() + offset[k]);
  };
  parallel_for(blocks, read_block, stop);
  for (size_t k = 0; k < memories.size(); ++k) {
    errors[k].assign(decoders[k].size(), 0.0);
    for (const auto& block : partial)
      for (size_t j = 0; j < errors[k].size(); ++j) errors[k][j] += block[offset[k] + j];
  }
  return errors;
}

double population_error(const AssociationTask& task, std::span<const float> weights,
                        std::span<const float> input_embeddings,
                        std::span<const float> output_embeddings, int64_t dimension) {
  const size_t d = dimension;
  check_argument(weights.size() == task.law.size() &&
                     input_embeddings.size() == task.law.size() * d &&
                     output_embeddings.size() == task.outputs * d,
                 "population_error: {} weights, {} and {} embedding entries do not fit N = {}, "
                 "M = {}, d = {}",
                 weights.size(), input_embeddings.size(), output_embeddings.size(), task.inputs(),
                 task.outputs, dimension);
  const SerialBlas serial_blas;
  std::vector<float> sums(output_embeddings.size(), 0.0f);
  for (int64_t x = 0; x < task.inputs(); ++x)
    for (int64_t j = 0; j < dimension; ++j)
      sums[task.output[x] * dimension + j] += weights[x] * input_embeddings[x * dimension + j];
  std::vector<Decoder> decoder;
  decoder.emplace_back(sums.data(), dimension,
                       std::vector<float>(output_embeddings.begin(), output_embeddings.end()),
                       task.outputs, dimension);
  double error = 0;
  add_block_errors(task, decoder, 0, task.inputs(), input_embeddings.data(), dimension, &error);
  return error;
}

double population_error_of_scores(const AssociationTask& task, std::span<const float> scores) {
  check_argument(scores.size() == task.law.size() * task.outputs,
                 "population_error_of_scores: {} scores for N = {}, M = {}", scores.size(),
                 task.inputs(), task.outputs);
  return misread_mass(task, 0, task.inputs(), scores.data());
}

AssociationTask with_shared_mass(AssociationTask task, std::span<const float> weights) {
  check_argument(weights.size() == task.law.size(), "with_shared_mass: {} weights for {} inputs",
                 weights.size(), task.law.size());
  std::vector<int64_t> stored_of(task.outputs, 0);
  for (size_t x = 0; x < weights.size(); ++x) stored_of[task.output[x]] += weights[x] > 0;
  struct Alike {
    double mass = 0;
    int64_t inputs = 0;
  };
  std::map<std::pair<bool, int64_t>, Alike> groups;
  const auto group_of = [&](size_t x) -> Alike& {
    return groups[{weights[x] > 0, stored_of[task.output[x]]}];
  };
  for (size_t x = 0; x < weights.size(); ++x) {
    Alike& group = group_of(x);
    group.mass += task.law[x];
    ++group.inputs;
  }
  for (size_t x = 0; x < weights.size(); ++x) {
    const Alike& group = group_of(x);
    task.law[x] = group.mass / group.inputs;
  }
  return task;
}

}  // namespace tessera::theory
