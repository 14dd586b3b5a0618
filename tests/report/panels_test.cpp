#include "tessera/report/panels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tessera/report/heat_map.h"
#include "tessera/report/line_chart.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<HeatMap> map(const std::string& title) {
  auto map = std::make_unique<HeatMap>(title, std::vector<std::string>{"r"},
                                       std::vector<std::string>{"a", "b"},
                                       Axis{"share", Scale::kLinear, 0, 1});
  map->set_values({0.25, 0.75});
  return map;
}

TEST(Panels, StandSideBySideInRows) {
  Panels panels("Both", 2);
  panels.add(map("before"));
  panels.add(map("after"));
  const Drawing one_row = panels.draw(ChartWidth::kWide);
  for (const char* part : {"Both", "before", "after", "translate(0 ", "translate(360 "})
    EXPECT_THAT(one_row.body, HasSubstr(part));
  panels.add(map("later"));
  EXPECT_GT(panels.draw(ChartWidth::kWide).height, 1.5 * one_row.height);
  EXPECT_EQ(panels.draw(ChartWidth::kNarrow).width, 360);
}

TEST(Panels, ShareTheWidthWhereTheyAreFew) {
  Panels two("Two", 3);
  two.add(map("before"));
  two.add(map("after"));
  EXPECT_THAT(two.draw(ChartWidth::kWide).body, HasSubstr("translate(360 "));
  two.add(map("later"));
  EXPECT_THAT(two.draw(ChartWidth::kWide).body, HasSubstr("translate(480 "));
}

TEST(Panels, ListTheNumbersOfAll) {
  Panels panels("Both", 2);
  panels.add(map("before"));
  panels.add(map("after"));
  EXPECT_EQ(panels.numbers().csv(),
            "panel,row,1,2\n"
            "before,row,a,b\nbefore,r,0.25,0.75\n"
            "after,row,a,b\nafter,r,0.25,0.75\n");
  EXPECT_THROW(panels.add(nullptr), std::invalid_argument);
  EXPECT_THROW(Panels("none", 0), std::invalid_argument);
}

TEST(LineChart, BandsOnALogAxisAreAsHighBelowAsAbove) {
  LineChart chart("Error", {"d"}, {"error", Scale::kLog});
  chart.add({"ours", {{1, 0.01, 0.09}, {2, 0.01, 0.09}}});  // the mean less the spread is negative
  const std::string body = chart.draw(ChartWidth::kWide).body;
  std::smatch band, line;
  ASSERT_TRUE(std::regex_search(body, band, std::regex("band\" d=\"([^\"]*)\"")));
  ASSERT_TRUE(std::regex_search(body, line, std::regex(" line\" d=\"M[0-9.]+ ([0-9.]+)")));
  std::vector<double> heights;
  const std::string path = band[1];
  const std::regex point("[ML][0-9.]+ ([0-9.]+)");
  for (std::sregex_iterator at(path.begin(), path.end(), point), end; at != end; ++at)
    heights.push_back(std::stod((*at)[1]));
  const auto [top, bottom] = std::minmax_element(heights.begin(), heights.end());
  EXPECT_NEAR(*bottom - std::stod(line[1]), std::stod(line[1]) - *top, 0.1);
}

}  // namespace
}  // namespace tessera
