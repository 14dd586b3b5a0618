#include "tests/model/recurrent_network_suite.h"

namespace tessera::test {
namespace {

constexpr NetworkForm kNetworks[] = {
    {"vector_lstm", "vector_lstm", R"(, "layers": 2, "hidden": 6)"},
    {"attentional_lstm", "attentional_lstm", R"(, "hidden": 6)", /*grows=*/true},
    {"fast_weights", "fast_weights", R"(, "hidden": 8, "inner_steps": 2)"},
    {"rmc_unit", "rmc", R"(, "slots": 3, "heads": 2, "head_width": 4)"},
    {"rmc_memory", "rmc",
     R"(, "slots": 5, "heads": 2, "head_width": 2, "mlp_layers": 1, "gates": "memory")"},
    {"ntm", "ntm", R"(, "controller": 8, "slots": 6, "width": 4, "heads": 2)"},
    {"dnc", "dnc", R"(, "controller": 8, "slots": 5, "width": 4, "read_heads": 2)"},
};

INSTANTIATE_TEST_SUITE_P(Forms, RecurrentNetworkTest, testing::ValuesIn(kNetworks),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(RecurrentNetworkTest, StaysFiniteOnLargeAndZeroInputs) {
  for (double size : {0.0, 1e4}) {
    model_->zero_grad(true);
    const at::Tensor y = model_->forward(size * inputs(2, 30).to(at::kFloat));
    EXPECT_TRUE(y.isfinite().all().item<bool>()) << size;
    y.sum().backward();
    for (const auto& item : model_->named_parameters())
      EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
  }
}

TEST_P(RecurrentNetworkTest, EveryStepReachesItsOwnOutputAndTheLast) {
  perturb();
  const at::Tensor x = inputs(2, 8), before = whole(x);
  for (int64_t changed : {0, 1, 5, 7}) {
    const at::Tensor after = whole(with_other_step(x, changed));
    for (int64_t reached : {changed, int64_t{7}})
      EXPECT_GT(relative_error(after.select(1, reached), before.select(1, reached)), 1e-9)
          << changed << " " << reached;
  }
}

TEST_P(RecurrentNetworkTest, LearnsOneBatchByHeart) {
  const at::Tensor x = inputs(4, 6).to(at::kFloat);
  const at::Tensor targets = inputs(4, 3, 9).narrow(2, 0, kOutputs).gt(0).to(at::kFloat);
  const auto loss = [&] { return at::mse_loss(model_->forward(x, {}, 3), targets); };
  EXPECT_LT(loss_after_adam(model_->parameters(), loss, 0.02, 800), 0.02);
}

TEST_P(RecurrentNetworkTest, RefusesStatesOfOtherModels) {
  const auto state_of = [&](const char* kind, const std::string& fields) {
    const auto other = model_kind(kind).make(config::parse_json(fields, "test"), 1, at::kCPU);
    const bool words = model_kind(kind).language_model;
    return other
        ->read(words ? at::zeros({2, 3}, at::kLong) : at::zeros({2, 3, kInputs}),
               other->empty_state())
        .state;
  };
  const at::Tensor x = at::zeros({2, 3, kInputs});
  SequenceState stm = state_of("stm", R"({"inputs": 6, "width": 4})");
  SequenceState words = state_of("lstm", R"({"vocabulary": 5, "layers": 1, "channels": 4})");
  SequenceState wider = state_of("vector_lstm", R"({"inputs": 6, "hidden": 19})");
  for (SequenceState* other : {&stm, &words, &wider}) {
    EXPECT_THROW(model_->read(x, std::move(*other)), UsageError);
    EXPECT_EQ(other->rows(), 2);
  }
}

}  // namespace
}  // namespace tessera::test
