#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/model_jobs/model_jobs.h"

namespace tessera::jobs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(InspectionPage, HoldsTheTextItsInspectionsAndTheModulesOfThePage) {
  const Tokens text = {'<', 'b'};
  Inspection inspection;
  inspection.token = 'b';
  inspection.blocks.push_back(
      {.heads = {{.logit = 0.5, .memories = {{0, 1, 0.5}}}}, .slots = std::vector<SlotShare>()});
  inspection.blocks.back().unit_logit = -0.25;
  const std::string page = inspection_page(
      "runs/<a>", text, {inspection}, {nullptr, Tokenizer::bytes(EndOfText::kAbsent), nullptr});
  EXPECT_THAT(page, HasSubstr("runs/&lt;a&gt;"));
  EXPECT_THAT(page, HasSubstr(R"({"id":60,"text":"\u003c"})"));
  EXPECT_THAT(page, HasSubstr(R"("memories":[{"position":0,"weight":1.0,"logit":0.5}]}],)"
                              R"("persistent_memory":-0.25,"slots":[]})"));
  EXPECT_THAT(page, HasSubstr("\nclass Explanation {"));
  for (const char* foreign : {"\nimport ", "\nexport ", "src=", "href="})
    EXPECT_THAT(page, Not(HasSubstr(foreign)));
}

}  // namespace
}  // namespace tessera::jobs
