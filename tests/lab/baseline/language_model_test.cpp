#include <gmock/gmock.h>

#include "tests/model/language_model_suite.h"
#include "tests/support/temporary_folder.h"

namespace tessera::test {
namespace {

constexpr LanguageModelForm kBaselines[] = {
    {"lstm", "lstm", "", /*stores_pairs=*/false},
    {"retnet", "retnet", R"(, "heads": 2)", /*stores_pairs=*/false},
    {"gated_deltanet", "gated_deltanet", R"(, "heads": 2)", /*stores_pairs=*/false},
};

INSTANTIATE_TEST_SUITE_P(Forms, LanguageModelTest, testing::ValuesIn(kBaselines),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(LanguageModelTest, ItsStateHasAFixedSize) {
  const auto sizes_of = [](const SequenceState& state) {
    std::vector<std::vector<int64_t>> sizes;
    for (const auto& [name, values] : state.tensors()) sizes.push_back(values.sizes().vec());
    return sizes;
  };
  SequenceState state = model_->read(tokens(3, 1), model_->empty_state()).state;
  const auto sizes = sizes_of(state);
  for (const int64_t length : {7, 40}) {
    go_on(tokens(3, length), state);
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
  SequenceState state = wider->read(tokens(2, 3), wider->empty_state()).state;
  EXPECT_THROW(model_->read(tokens(2, 3), std::move(state)), UsageError);
  EXPECT_EQ(state.rows(), 2);
}

}  // namespace
}  // namespace tessera::test
