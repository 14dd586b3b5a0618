#include "tessera/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tessera/report/line_chart.h"
#include "tessera/report/text.h"
#include "tests/report/markup_fault.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Page, IsOneSoundFileThatLoadsNothing) {
  Page page("A & B", "sub <title>");
  page.section("First");
  page.paragraph("</main><script>alert(1)</script>");
  page.list({"one", "<two>"});
  page.section("Second");
  page.command("tessera study x --set 'a=\"b\"'");
  page.preformatted("raw \xff <b>\n", "a sample");
  page.section("Third");
  page.facts({{"seed", "1"}});
  const std::string html = page.html();
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_THAT(html, Not(HasSubstr("url(http")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("<title>A &amp; B</title>"));
  EXPECT_THAT(html, HasSubstr("<a href=\"#section-2\">Second</a>"));
  EXPECT_THAT(html, HasSubstr("<h2 id=\"section-2\">Second</h2>"));
}

TEST(Page, CommandsBreakBetweenWordsOnly) {
  Page page("A", "");
  page.command("tessera study x --set 'a=\"b\"'");
  EXPECT_THAT(page.html(), HasSubstr("<pre><span>tessera</span> <span>study</span> "
                                     "<span>x</span> <span>--set</span> "
                                     "<span>&#39;a=&quot;b&quot;&#39;</span></pre>"));
}

TEST(Page, NamesOfColumnsBreakSoThatWideTablesFit) {
  const std::string html = Page("A", "").html();
  EXPECT_FALSE(std::regex_search(html, std::regex("\\bth\\b[^{}]*\\{[^}]*white-space:nowrap")));
  EXPECT_TRUE(std::regex_search(html, std::regex("td\\.number\\{white-space:nowrap\\}")));
  // With the width of its unbroken names a table of many columns is cut though there is room.
  EXPECT_THAT(html, Not(HasSubstr("width:max-content")));
}

TEST(Page, HoldsEveryNumberOfItsCharts) {
  for (const int count : {3, 399, 401, 2000}) {
    LineChart chart("Loss", {.label = "step"}, {.label = "loss"});
    Series series{"s", {}};
    for (int i = 0; i < count; ++i)
      series.points.push_back({i + 0.5, 1.0 / (i + 3), 1.0 / (i + 7)});
    chart.add(series);
    Page page("t", "");
    page.chart(chart, "caption & more");
    const std::string html = page.html();
    EXPECT_EQ(markup_fault(html), "");
    EXPECT_THAT(html, HasSubstr("caption &amp; more"));
    for (const ChartPoint& point : series.points)
      for (const double number : {point.x, point.y, point.spread})
        ASSERT_NE(html.find(exact_text(number)), std::string::npos) << number;
  }
}

TEST(Page, HasAScriptOnlyWhereItNeedsOne) {
  Page page("t", "");
  page.facts({{"seed", "1"}});
  page.table(Table("", {"a"}));
  EXPECT_THAT(page.html(), Not(HasSubstr("<script")));
  EXPECT_THAT(page.html(), Not(HasSubstr("script-src")));
  page.data("numbers", Table("", {"a"}));
  EXPECT_THAT(page.html(), HasSubstr("<script>"));
  EXPECT_THAT(page.html(), HasSubstr("script-src 'unsafe-inline'"));
}

TEST(Page, HasNoListOfTwoSections) {
  Page page("t", "");
  page.section("a");
  page.section("b");
  EXPECT_THAT(page.html(), Not(HasSubstr("<nav")));
}

}  // namespace
}  // namespace tessera
