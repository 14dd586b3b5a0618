#include "tests/model/recurrent_network_suite.h"

namespace tessera::test {
namespace {

constexpr NetworkForm kTwoMemories[] = {
    {"stm", "stm", R"(, "slots": 3, "width": 6, "distilled": 7, "readout": 5, "hidden": 8)"},
    {"stm_paper", "stm", R"(, "slots": 3, "width": 6, "distilled": 7, "variant": "paper")"},
};

INSTANTIATE_TEST_SUITE_P(Forms, RecurrentNetworkTest, testing::ValuesIn(kTwoMemories),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera::test
