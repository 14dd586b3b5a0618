#include "tessera/report/panels.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/report/heat_map.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<HeatMap> map(const std::string& title) {
  auto map = std::make_unique<HeatMap>(title, std::vector<std::string>{"r"},
                                       std::vector<std::string>{"a", "b"},
                                       Axis{"share", Scale::kLinear, 0, 1});
  map->set_values({0.25, 0.75});
  return map;
}

Panels maps(int count) {
  Panels panels("Maps");
  for (int k = 1; k <= count; ++k) panels.add(map(fmt::format("map {}", k)));
  return panels;
}

TEST(Panels, StandTwoInARow) {
  const Drawing row = maps(2).draw(ChartWidth::kWide), rows = maps(3).draw(ChartWidth::kWide);
  for (const char* part : {"Maps", "map 1", "map 2", "translate(0 ", "translate(360 "})
    EXPECT_THAT(row.body, HasSubstr(part));
  EXPECT_GT(rows.height, 1.5 * row.height);
  EXPECT_EQ(rows.width, 720);
  const Drawing column = maps(2).draw(ChartWidth::kNarrow);
  EXPECT_EQ(column.width, 360);
  EXPECT_EQ(column.height, rows.height);
}

TEST(Panels, StandBelowATitleOfSeveralLines) {
  Panels panels("What each of the heads of the last block has learned to read in a story");
  panels.add(map("map 1"));
  panels.add(map("map 2"));
  const Drawing wide = panels.draw(ChartWidth::kWide), narrow = panels.draw(ChartWidth::kNarrow);
  EXPECT_THAT(wide.body, HasSubstr("translate(0 40)"));
  EXPECT_THAT(narrow.body, HasSubstr("translate(0 60)")) << "two lines of 20 pixels";
}

TEST(Panels, HaveTextOfOneSize) {
  for (const int count : {1, 2, 3, 5})
    for (const ChartWidth width : {ChartWidth::kWide, ChartWidth::kNarrow})
      EXPECT_THAT(maps(count).draw(width).body, Not(HasSubstr("scale("))) << count;
  // Alone, one has the whole width.
  const Drawing alone = maps(1).draw(ChartWidth::kWide);
  EXPECT_THAT(alone.body, HasSubstr(map("map 1")->draw(ChartWidth::kWide).body));
}

TEST(Panels, ListTheNumbersOfAll) {
  Panels panels("Both");
  panels.add(map("before"));
  panels.add(map("after"));
  EXPECT_EQ(panels.numbers().csv(),
            "panel,row,1,2\n"
            "before,row,a,b\nbefore,r,0.25,0.75\n"
            "after,row,a,b\nafter,r,0.25,0.75\n");
  EXPECT_THROW(panels.add(nullptr), UsageError);
}

}  // namespace
}  // namespace tessera
