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

}  // namespace
}  // namespace tessera::test
