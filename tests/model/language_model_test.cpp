#include "tessera/model/language_model.h"

#include "tessera/model/gpt.h"
#include "tests/model/language_model_suite.h"

namespace tessera::test {
namespace {

constexpr LanguageModelForm kLanguageModels[] = {
    {"mosaic_paper", "memory_mosaic", R"(, "heads": 2, "persistent_slots": 6)"},
    {"mosaic_nano", "memory_mosaic",
     R"(, "heads": 2, "persistent_slots": 6, "parameterisation": "nano", "bias": true)"},
    {"mosaic_v2", "memory_mosaic_v2",
     R"(, "heads": 2, "persistent_width": 12, "short_term": 5, "delay": 3, "longest_delay": 6)"},
    {"mosaic_v2_bias", "memory_mosaic_v2", R"(, "heads": 2, "persistent_width": 12, "bias": true)"},
    {"gpt_learned", "gpt", R"(, "heads": 2, "positions": "learned", "bias": true)"},
    {"gpt_rotary", "gpt", R"(, "heads": 2, "positions": "rotary")"},
    {"gpt_alibi", "gpt", R"(, "heads": 2, "positions": "alibi", "gelu": "tanh")"},
};

INSTANTIATE_TEST_SUITE_P(Forms, LanguageModelTest, testing::ValuesIn(kLanguageModels),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ModelKinds, AreAddedOnce) {
  EXPECT_THROW(add_model_kinds({gpt_kind()}), UsageError);
  EXPECT_EQ(model_kinds().front().name, "memory_mosaic");
  ModelKind other = gpt_kind();
  other.name = "other";
  EXPECT_THROW(add_model_kinds({other, gpt_kind()}), UsageError);
  EXPECT_THROW(model_kind("other"), UsageError);
}

}  // namespace
}  // namespace tessera::test
