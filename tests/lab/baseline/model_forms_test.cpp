// The networks of the laboratory, held against what all models promise.

#include <gmock/gmock.h>

#include "tests/model/language_model_suite.h"
#include "tests/model/recurrent_network_suite.h"
#include "tests/support/temporary_folder.h"

namespace tessera::test {
namespace {

constexpr ModelForm kLanguageModels[] = {
    {"lstm", "lstm", "", /*stores_pairs=*/false},
    {"retnet", "retnet", R"(, "heads": 2)", /*stores_pairs=*/false},
    {"gated_deltanet", "gated_deltanet", R"(, "heads": 2)", /*stores_pairs=*/false},
};

constexpr ModelForm kNetworks[] = {
    {"vector_lstm", "vector_lstm", R"(, "layers": 2, "hidden": 6)"},
    {.name = "attentional_lstm",
     .kind = "attentional_lstm",
     .hyper_parameters = R"(, "hidden": 6)",
     .grows = true},
    {"fast_weights", "fast_weights", R"(, "hidden": 8, "inner_steps": 2)"},
    {"rmc_unit", "rmc", R"(, "slots": 3, "heads": 2, "head_width": 4)"},
    {"rmc_memory", "rmc",
     R"(, "slots": 5, "heads": 2, "head_width": 2, "mlp_layers": 1, "gates": "memory")"},
    {"ntm", "ntm", R"(, "controller": 8, "slots": 6, "width": 4, "heads": 2)"},
    {"dnc", "dnc", R"(, "controller": 8, "slots": 5, "width": 4, "read_heads": 2)"},
};

INSTANTIATE_TEST_SUITE_P(LanguageModels, SequenceModelTest, testing::ValuesIn(kLanguageModels),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Networks, SequenceModelTest, testing::ValuesIn(kNetworks), name_of);
INSTANTIATE_TEST_SUITE_P(Forms, LanguageModelTest, testing::ValuesIn(kLanguageModels), name_of);
INSTANTIATE_TEST_SUITE_P(Forms, RecurrentNetworkTest, testing::ValuesIn(kNetworks), name_of);

TEST_P(LanguageModelTest, ItsStateHasAFixedSize) {
  const auto sizes_of = [](const SequenceState& state) {
    std::vector<std::vector<int64_t>> sizes;
    for (const auto& [name, values] : state.tensors()) sizes.push_back(values.sizes().vec());
    return sizes;
  };
  SequenceState state = model_->read(inputs(3, 1), model_->empty_state()).state;
  const auto sizes = sizes_of(state);
  for (const int64_t length : {7, 40}) {
    go_on(inputs(3, length), state);
    EXPECT_EQ(sizes_of(state), sizes) << length;
  }
}

TEST_P(LanguageModelTest, RefusesImpossibleSizes) {
  const auto refusal = [&](const std::string& field, const config::Json& value) {
    config::Json fields = model_->hyper_parameters();
    fields[field] = value;
    return message_of<UsageError>([&] { make_language_model(GetParam().kind, fields); });
  };
  for (const char* size : {"vocabulary", "window", "layers", "channels"})
    for (const int64_t wrong : {int64_t{0}, int64_t{-1}, INT64_MAX})
      EXPECT_THAT(refusal(size, wrong),
                  testing::HasSubstr(fmt::format("model.{} is {}", size, wrong)));
  for (const double wrong : {-0.1, 1.0})
    EXPECT_THAT(refusal("dropout", wrong), testing::HasSubstr("model.dropout"));
}

TEST_P(LanguageModelTest, RefusesAStateOfAWiderModel) {
  config::Json fields = model_->hyper_parameters();
  fields["channels"] = 32;
  const auto wider = make_language_model(GetParam().kind, fields);
  SequenceState state = wider->read(inputs(2, 3), wider->empty_state()).state;
  EXPECT_THROW(model_->read(inputs(2, 3), std::move(state)), UsageError);
  EXPECT_EQ(state.rows(), 2);
}

TEST_P(RecurrentNetworkTest, StaysFiniteOnLargeAndZeroInputs) {
  model_->to(at::kFloat);
  model_->initialise(1);
  for (double size : {0.0, 1e4}) {
    model_->zero_grad(true);
    const at::Tensor y = model_->forward(size * inputs(2, 30));
    EXPECT_TRUE(y.isfinite().all().item<bool>()) << size;
    y.sum().backward();
    for (const auto& item : model_->named_parameters())
      EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
  }
}

TEST_P(RecurrentNetworkTest, EveryStepReachesItsOwnOutputAndTheLast) {
  const at::Tensor x = inputs(2, 8), before = whole(x);
  for (int64_t changed : {0, 1, 5, 7}) {
    const at::Tensor after = whole(with_other_step(x, changed));
    for (int64_t reached : {changed, int64_t{7}})
      EXPECT_GT(relative_error(after.select(1, reached), before.select(1, reached)), 1e-9)
          << changed << " " << reached;
  }
}

TEST_P(RecurrentNetworkTest, LearnsOneBatchByHeart) {
  model_->to(at::kFloat);
  model_->initialise(1);
  const at::Tensor x = inputs(4, 6);
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
  model_->to(at::kFloat);
  const at::Tensor x = inputs(2, 3);
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
