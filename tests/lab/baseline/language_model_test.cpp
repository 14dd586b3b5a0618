#include "tests/model/language_model_suite.h"

namespace tessera::test {
namespace {

constexpr LanguageModelForm kBaselines[] = {
    {"lstm", "lstm", "", /*stores_pairs=*/false},
    {"retnet", "retnet", R"(, "heads": 2)", /*stores_pairs=*/false},
    {"gated_deltanet", "gated_deltanet", R"(, "heads": 2)", /*stores_pairs=*/false},
};

INSTANTIATE_TEST_SUITE_P(Forms, LanguageModelTest, testing::ValuesIn(kBaselines),
                         [](const auto& info) { return std::string(info.param.name); });

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
