#include "tessera/report/token_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/report/page.h"
#include "tests/report/markup_walk.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<ViewedToken> two_tokens() {
  return {{.text = "a<b"},
          {.text = " </script>&",
           .probability = 0.25,
           .alternatives = {{"</script><script>alert(1)", 0.5}},
           .parts = {{"embedding", -1.5}},
           .memories = {{.layer = 2, .head = 3, .position = 0, .weight = 1, .logit = 0.75}}}};
}

TEST(TokenView, HoldsTextAndExplanationsEscaped) {
  const std::string view = token_view(two_tokens());
  EXPECT_EQ(markup_fault(view), "");
  EXPECT_THAT(view, HasSubstr("data-position=\"0\">a&lt;b</span>"));
  EXPECT_THAT(view, HasSubstr("data-position=\"1\"> &lt;/script&gt;&amp;</span>"));
  EXPECT_THAT(view, HasSubstr(R"("probability":0.25)"));
  EXPECT_THAT(view, HasSubstr(R"("parts":[["embedding",-1.5]])"));
  EXPECT_THAT(view, HasSubstr(R"("memories":[[2,3,0,1.0,0.75]])"));
  EXPECT_THAT(view, Not(HasSubstr("<script>alert")));
}

TEST(TokenView, IsAPartOfASoundPage) {
  Page page("Memories", "");
  page.tokens(two_tokens());
  const std::string html = page.html();
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_THAT(html, HasSubstr(std::string(kTokenViewStyle)));
  EXPECT_THAT(html, HasSubstr(std::string(kTokenViewScript)));
  EXPECT_THAT(Page("Other", "").html(), Not(HasSubstr(std::string(kTokenViewScript))));
}

TEST(TokenView, RefusesAPlaceThatTheTextLacks) {
  auto tokens = two_tokens();
  tokens[1].memories[0].position = 2;
  EXPECT_THROW(token_view(tokens), UsageError);
  tokens[1].memories[0].position = -1;
  EXPECT_THROW(token_view(tokens), UsageError);
}

}  // namespace
}  // namespace tessera
