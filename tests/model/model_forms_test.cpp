// The models of the library, held against what all models promise.

#include "tessera/model/gpt.h"
#include "tests/model/language_model_suite.h"
#include "tests/model/recurrent_network_suite.h"

namespace tessera::test {
namespace {

constexpr ModelForm kLanguageModels[] = {
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

constexpr ModelForm kNetworks[] = {
    {"stm", "stm", R"(, "slots": 3, "width": 6, "distilled": 7, "readout": 5, "hidden": 8)"},
    {"stm_paper", "stm", R"(, "slots": 3, "width": 6, "distilled": 7, "variant": "paper")"},
};

INSTANTIATE_TEST_SUITE_P(LanguageModels, SequenceModelTest, testing::ValuesIn(kLanguageModels),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Networks, SequenceModelTest, testing::ValuesIn(kNetworks), name_of);
INSTANTIATE_TEST_SUITE_P(Forms, LanguageModelTest, testing::ValuesIn(kLanguageModels), name_of);
INSTANTIATE_TEST_SUITE_P(Forms, RecurrentNetworkTest, testing::ValuesIn(kNetworks), name_of);

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
