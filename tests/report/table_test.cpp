#include "tessera/report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tests/report/markup_fault.h"

namespace tessera {
namespace {

Table example() {
  Table table("Errors", {"scheme", "error", "runs"});
  table.add_row({"q₀, plain", Cell::fixed(0.12345, 2), 100});
  table.add_row({"q \"1\"", Cell::significant(12.5, 2), 7});
  table.add_row({"none", Cell(), 0});
  return table;
}

TEST(Table, TextIsAligned) {
  EXPECT_EQ(example().text(),
            "Errors\n"
            "scheme     error  runs\n"
            "---------  -----  ----\n"
            "q₀, plain   0.12   100\n"
            "q \"1\"         12     7\n"
            "none                 0\n");
}

TEST(Table, CsvKeepsExactNumbersAndQuotes) {
  EXPECT_EQ(example().csv(),
            "scheme,error,runs\n"
            "\"q₀, plain\",0.12345,100\n"
            "\"q \"\"1\"\"\",12.5,7\n"
            "none,,0\n");
  Table lines("", {"a"});
  lines.add_row({"two\nlines"});
  EXPECT_EQ(lines.csv(), "a\n\"two\nlines\"\n");
}

TEST(Table, HtmlEscapesAndCarriesExactNumbers) {
  Table table("A < B", {"name", "n"});
  table.add_row({"<i>", Cell::fixed(1.25, 1)});
  const std::string html = table.html();
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(html,
            "<table><caption>A &lt; B</caption><thead><tr><th scope=\"col\">name</th>"
            "<th scope=\"col\" class=\"number\">n</th></tr></thead>\n<tbody>\n"
            "<tr><td>&lt;i&gt;</td><td class=\"number\" title=\"1.25\" data-exact=\"1.25\">1.2</td>"
            "</tr>\n</tbody></table>\n");
}

TEST(Table, ALongWordMayBreak) {
  const std::string digest(64, 'a'), words = std::string(39, 'a') + " b";
  Table table("", {"digest", "words"});
  table.add_row({digest, words});
  EXPECT_THAT(table.html(),
              testing::HasSubstr("<td class=\"long\">" + digest + "</td><td>" + words));
}

TEST(Table, HtmlHasReadableNumbersAndCopiesExactOnes) {
  Table table("", {"tokens"});
  table.add_row({1162292});
  table.add_row({-0.5});
  const std::string html = table.html();
  EXPECT_THAT(html, testing::HasSubstr("data-exact=\"1162292\">1\u202F162\u202F292</td>"));
  EXPECT_THAT(html, testing::HasSubstr("data-exact=\"-0.5\">−0.5</td>"));
  EXPECT_EQ(table.csv(), "tokens\n1162292\n-0.5\n");
}

TEST(Table, WithoutRowsIsOnlyItsHeader) {
  const Table table("", {"a"});
  EXPECT_EQ(table.text(), "a\n-\n");
  EXPECT_EQ(table.csv(), "a\n");
  EXPECT_EQ(markup_fault(table.html()), "");
}

TEST(Table, RefusesRowsOfAnotherWidth) {
  Table table("t", {"a", "b"});
  EXPECT_THROW(table.add_row({"only one"}), UsageError);
  EXPECT_TRUE(table.rows().empty());
  EXPECT_THROW(Table("t", {}), UsageError);
}

TEST(Table, LeavesOutColumnsInWhichNothingStands) {
  Table table("t", {"a", "b", "c"});
  table.add_row({"x", Cell(), 1});
  table.add_row({Cell(), Cell(), 2});
  EXPECT_EQ(table.without_empty_columns().csv(), "a,c\nx,1\n,2\n");
  EXPECT_EQ(Table("t", {"a"}).without_empty_columns().csv(), "a\n");
}

}  // namespace
}  // namespace tessera
