// The two-memory model's variant for reinforcement learning, against loops over single numbers.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/model/stm.h"
#include "tests/model/by_hand.h"
#include "tests/model/model_checks.h"
#include "tests/model/slow_network.h"

namespace tessera {
namespace {

using test::sigmoid;
using test::values_of;
using test::Vector;

StmConfig small_reinforcement() {
  StmConfig config{
      .inputs = 2, .outputs = 2, .slots = 2, .width = 3, .distilled = 2, .readout = 3, .hidden = 4};
  config.alpha3.value = 0.3;
  config.variant = StmVariant::kReinforcement;
  return config;
}

Vector affine(const torch::nn::Linear& map, const Vector& x) {
  return test::affine(x, values_of(map->weight), values_of(map->bias));
}

Vector part(const Vector& all, size_t first, size_t count) {
  return {all.begin() + first, all.begin() + first + count};
}

torch::nn::Linear linear(const torch::nn::Sequential& maps, size_t index) {
  return torch::nn::Linear(maps->ptr<torch::nn::LinearImpl>(index));
}

/// One step for one sequence: changes the item memory (D x D) and gives the output, following the
/// authors' stm_rl.py line by line.
Vector slow_step(const Stm& model, const Vector& x, Vector& memory) {
  const StmConfig config = model.configuration();
  const size_t D = config.width, N = config.slots;
  const auto& cell = *model.cell;
  const Vector content = affine(linear(cell.content, 0), x);
  const Vector of_input = affine(cell.item->input_gate, content);
  const double input_bias = cell.item->input_bias.item<double>();
  const double forget_bias = cell.item->forget_bias.item<double>();
  for (size_t row = 0; row < D; ++row) {
    Vector squashed;
    for (const double value : part(memory, row * D, D)) squashed.push_back(std::tanh(value));
    const Vector gates = affine(cell.item->memory_gate, squashed);
    for (size_t column = 0; column < D; ++column) {
      const double write = sigmoid(gates[column] + of_input[column] + input_bias);
      const double keep = sigmoid(gates[D + column] + of_input[D + column] + forget_bias);
      memory[row * D + column] =
          keep * memory[row * D + column] + write * std::tanh(content[row] * content[column]);
    }
  }
  std::vector<Vector> qkv;  // of each row of the memory, normalised by itself: D times 3N
  for (size_t row = 0; row < D; ++row)
    qkv.push_back(test::normed(affine(cell.self_attention->projection, part(memory, row * D, D)),
                               values_of(cell.self_attention->norm_weight),
                               values_of(cell.self_attention->norm_bias)));
  std::vector<Vector> relational(N, Vector(D * D, 0));
  for (size_t s = 0; s < N; ++s)
    for (size_t j = 0; j < N; ++j)
      for (size_t a = 0; a < D; ++a)
        for (size_t b = 0; b < D; ++b)
          relational[s][a * D + b] += std::tanh(qkv[a][s] * qkv[a][N + j]) * qkv[b][2 * N + j];
  const double alpha3 = cell.relational->alpha3.item<double>();
  for (size_t b = 0; b < D; ++b) {
    Vector column;  // over slots and rows
    for (size_t s = 0; s < N; ++s)
      for (size_t a = 0; a < D; ++a) column.push_back(relational[s][a * D + b]);
    const Vector transferred = affine(cell.relational->transfer, column);
    for (size_t o = 0; o < D; ++o) memory[b * D + o] += alpha3 * transferred[o];
  }
  Vector distilled;
  for (size_t s = 0; s < N; ++s)
    for (const double value : affine(model.distillation, relational[s])) distilled.push_back(value);
  Vector hidden = test::normed(affine(model.readout, distilled), values_of(model.head_norm_weight),
                               values_of(model.head_norm_bias));
  for (const size_t layer : {0, 2}) {
    hidden = affine(linear(model.head, layer), hidden);
    for (double& value : hidden) value = std::max(value, 0.0);
  }
  return affine(linear(model.head, 4), hidden);
}

TEST(StmReinforcement, FollowsTheLoops) {
  const auto model = test::double_model<Stm>(small_reinforcement());
  const at::Tensor x = at::randn({1, 4, 2}, at::kDouble);
  const Stm::Sequence ours = model->run(x);
  Vector memory = values_of(model->cell->item->initial);
  for (int64_t t = 0; t < 4; ++t) {
    const Vector expected = slow_step(*model, values_of(x[0][t]), memory);
    for (int64_t i = 0; i < 2; ++i)
      EXPECT_NEAR(ours.outputs[0][t][i].item<double>(), expected[i], 1e-12);
  }
  const Vector after = values_of(ours.state.item);
  for (size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], memory[i], 1e-12);
}

// What the relational memory held before plays no part.
TEST(StmReinforcement, TheRelationalMemoryIsNotCarriedOn) {
  const auto model = test::double_model<Stm>(small_reinforcement());
  const at::Tensor x = at::randn({2, 3, 2}, at::kDouble);
  TwoMemoryState state = model->run(x).state.detach();
  const Stm::Sequence before = model->run(x, state);
  state.relational = at::randn_like(state.relational);
  EXPECT_TRUE(model->run(x, state).outputs.equal(before.outputs));
  before.outputs.sum().backward();
  for (const auto& item : model->named_parameters()) {
    const std::string& name = item.key();
    const bool unused = name.starts_with("cell.pattern") || name.starts_with("cell.attention") ||
                        name == "cell.relational.alpha1" || name == "cell.relational.alpha2" ||
                        name == "cell.relational.initial" || name == "cell.item.initial";
    EXPECT_EQ(item.value().grad().defined(), !unused) << name;
  }
}

}  // namespace
}  // namespace tessera
