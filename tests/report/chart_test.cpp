#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <regex>

#include "tessera/base/error.h"
#include "tessera/report/bar_chart.h"
#include "tessera/report/detail/thin_line.h"
#include "tessera/report/heat_map.h"
#include "tessera/report/line_chart.h"
#include "tests/report/markup_fault.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

void expect_sound(const Chart& chart) {
  for (const ChartWidth width : {ChartWidth::kWide, ChartWidth::kNarrow}) {
    const std::string svg = standalone_svg(chart.draw(width));
    EXPECT_EQ(markup_fault(svg), "") << svg;
    for (const char* fault :
         {"=\"nan", "=\"inf", "=\"-inf", "Mnan", "Lnan", "(nan", "Linf", " inf"}) {
      EXPECT_THAT(svg, Not(HasSubstr(fault)));
    }
  }
}

TEST(SvgWriter, WritesSmallElements) {
  SvgWriter svg;
  svg.line(0, 1.005, 2.5, -3, "grid");
  svg.text(1, 2, "a < b", "muted", Anchor::kEnd);
  svg.rect(0, 0, 1, 1, "s0 bar", "tip & more");
  const std::string expected =
      "<line class=\"grid\" x1=\"0\" y1=\"1\" x2=\"2.5\" y2=\"-3\"/>\n"
      "<text class=\"muted\" x=\"1\" y=\"2\" text-anchor=\"end\">a &lt; b</text>\n"
      "<rect class=\"s0 bar\" x=\"0\" y=\"0\" width=\"1\" height=\"1\">"
      "<title>tip &amp; more</title></rect>\n";
  EXPECT_EQ(svg.take_body(), expected);
}

TEST(Svg, StandsAloneInLightAndDark) {
  const Drawing drawing{10, 20, "A & B", "what it shows", ""};
  const std::string svg = standalone_svg(drawing);
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 10 20\""));
  EXPECT_THAT(svg, HasSubstr("<title>A &amp; B</title>\n<desc>what it shows</desc>"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(inline_svg(drawing), Not(HasSubstr("<style>")));
}

TEST(LineChart, DrawsEachPointWithItsNumbers) {
  LineChart chart("Error", {.label = "d"}, {.label = "error"});
  chart.add({"T < 10", {{1, 0.5, 0.1}, {2, 0.25, 0.05}, {3, 0.125}}});
  expect_sound(chart);
  const std::string svg = chart.svg();
  EXPECT_EQ(count(svg, "class=\"s0 fill\""), 3u + 1);  // one more beside its name
  EXPECT_EQ(count(svg, "class=\"s0 band\""), 1u);
  EXPECT_THAT(svg, HasSubstr("<title>T &lt; 10\nd: 1\nerror: 0.5 ± 0.1</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>T &lt; 10\nd: 3\nerror: 0.125</title>"));
}

TEST(LineChart, PublishedNumbersTakeTheColourOfOurs) {
  LineChart chart("", {.label = "d"}, {.label = "error"});
  chart.add({"first", {{1, 1}, {2, 2}}});
  chart.add({"second", {{1, 2}, {2, 3}}});
  chart.add({"second", {{1, 2.1}, {2, 3.1}}, SeriesStyle::kPublished});
  expect_sound(chart);
  EXPECT_EQ(count(chart.svg(), "class=\"s1 hollow\""), 2u);
  EXPECT_EQ(count(chart.svg(), "class=\"s1 published\""), 1u);
  EXPECT_THAT(chart.svg(), HasSubstr(">published</text>"));
  // Larger and beneath: a full marker in the middle of a published one can be seen.
  EXPECT_LT(chart.svg().find("class=\"s1 hollow\""), chart.svg().find("class=\"s1 fill\""));
  EXPECT_EQ(count(chart.svg(), "scale(1.35)"), 2u + 1);
}

TEST(LineChart, HollowPointsTakeTheColourOfTheSeriesOfTheirName) {
  LineChart chart("", {.label = "x"}, {.label = "y"});
  chart.add({"first", {{1, 1}}, SeriesStyle::kPoints});
  chart.add({"second", {{1, 2}, {2, 3}}, SeriesStyle::kPoints});
  chart.add({"second", {{1, 4}, {2, 5}, {3, 6}}, SeriesStyle::kHollow});
  expect_sound(chart);
  const std::string svg = chart.svg();
  EXPECT_EQ(count(svg, "class=\"s1 hollow\""), 3u);
  EXPECT_EQ(count(svg, ">second</text>"), 1u);  // one name for both
  EXPECT_THAT(svg, Not(HasSubstr("published</text>")));
  EXPECT_THAT(chart.numbers().csv(), HasSubstr("second (hollow),3,6,"));
}

TEST(LineChart, TheLegendSaysWhatHollowPointsAre) {
  LineChart chart("", {.label = "step"}, {.label = "loss"});
  chart.add({"net", {{1, 2}, {2, 1}}});
  chart.add({"net", {{1, 3}, {2, 2}}, SeriesStyle::kHollow, "", "training batches"});
  expect_sound(chart);
  EXPECT_THAT(chart.svg(), HasSubstr(">training batches</text>"));
  EXPECT_THAT(chart.numbers().csv(), HasSubstr("net (training batches),2,2,"));
}

TEST(LineChart, NamesOfReferencesAreDashedAsTheirLines) {
  LineChart chart("", {.label = "x"}, {.label = "y"});
  chart.add({"ours", {{1, 1}, {2, 2}}});
  chart.add({"one bound", {{1, 2}, {2, 3}}, SeriesStyle::kReference});
  chart.add({"another", {{1, 3}, {2, 4}}, SeriesStyle::kReference});
  const std::string svg = chart.svg();
  EXPECT_EQ(count(svg, "class=\"reference\""), 2u);         // the line and beside its name
  EXPECT_EQ(count(svg, "class=\"reference second\""), 2u);  // likewise
  chart.add({"a third", {{1, 4}, {2, 5}}, SeriesStyle::kReference});
  chart.add({"a fourth", {{1, 5}, {2, 6}}, SeriesStyle::kReference});
  EXPECT_EQ(count(chart.svg(), "class=\"reference\""), 2u);
}

TEST(LineChart, ReferencesTakeTheColourOfTheSeriesTheyName) {
  LineChart chart("", {.label = "x"}, {.label = "y"});
  for (int k = 0; k < 5; ++k) {
    const std::string name = "d = " + std::to_string(k);
    const double y = 1 + k;
    chart.add({name, {{1, y}, {2, y}}});
    chart.add({"rate at " + name, {{1, y}, {2, y / 2}}, SeriesStyle::kReference, name});
  }
  chart.add({"bound", {{1, 1}, {2, 2}}, SeriesStyle::kReference});
  expect_sound(chart);
  const std::string svg = chart.svg();
  for (int k = 0; k < 5; ++k)  // the line and beside its name
    EXPECT_EQ(count(svg, "class=\"s" + std::to_string(k) + " reference coloured\""), 2u) << k;
  EXPECT_EQ(count(svg, "class=\"reference\""), 2u);
  EXPECT_THAT(svg, HasSubstr(".coloured{stroke:currentColor}"));
}

TEST(LineChart, PowersOfTenKeepTheirLabelsWhereNotAllHaveRoom) {
  LineChart chart("", {.label = "d", .scale = Scale::kLog}, {.label = "error"});
  chart.add({"s", {{300, 1}, {30000, 2}}});
  EXPECT_THAT(chart.svg(), HasSubstr(">5000</text>"));
  const std::string narrow = standalone_svg(chart.draw(ChartWidth::kNarrow));
  for (const char* label : {">500</text>", ">1000</text>", ">10\u202F000</text>"})
    EXPECT_THAT(narrow, HasSubstr(label));
  EXPECT_THAT(narrow, Not(HasSubstr(">5000</text>")));
}

TEST(LineChart, MarksAreUprightLinesWithNames) {
  LineChart chart("", {.label = "context"}, {.label = "error"});
  chart.add({"s", {{0, 1}, {100, 2}}});
  chart.mark(25, "p < 30");
  chart.mark(26, "below");
  chart.mark(27, "no room");
  chart.mark(1000, "outside");
  expect_sound(chart);
  const std::string svg = chart.svg();
  EXPECT_EQ(count(svg, "class=\"reference\""), 3u);
  EXPECT_THAT(svg, HasSubstr(">p &lt; 30</text>"));
  EXPECT_THAT(svg, HasSubstr(">below</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("no room")));
  EXPECT_THAT(svg, Not(HasSubstr("outside")));
  EXPECT_EQ(chart.numbers().rows().size(), 6u);
}

// There are eight colours: of more lines two share one, and differ in their markers.
TEST(LineChart, ANameHasTheMarkerOfItsLine) {
  LineChart chart("", {.label = "d"}, {.label = "error"});
  const auto add_line = [&](int line) {
    chart.add({fmt::format("line {}", line), {{1, 1.0 * line}, {2, 2.0 * line}}});
  };
  for (int line = 1; line <= 8; ++line) add_line(line);
  EXPECT_EQ(count(chart.svg(), "class=\"s0 fill\""), 2u + 1);
  add_line(9);
  expect_sound(chart);
  EXPECT_EQ(count(chart.svg(), "class=\"s0 fill\""), 2 * (2u + 1));
}

TEST(LineChart, ManyNamesStandAboveThePlot) {
  LineChart chart("", {.label = "d"}, {.label = "error"});
  for (int line = 1; line <= 11; ++line)
    chart.add({fmt::format("line {}", line), {{1, 1.0}, {2, 2.0}}});
  EXPECT_EQ(count(chart.svg(), "class=\"leader\""), 0u);
  EXPECT_LT(chart.svg().find(">line 11</text>"), chart.svg().find("class=\"axis\""));
}

TEST(LineChart, LinesOfManyPointsDifferInAFewMarkers) {
  Series line{"line", {}};
  for (int i = 0; i < 1000; ++i) line.points.push_back({1.0 * i, 1.0 * i});
  LineChart chart("", {.label = "step"}, {.label = "loss"});
  chart.add(line);
  EXPECT_EQ(count(chart.svg(), "class=\"s0 fill\""), 0u);  // nothing to tell it apart from
  chart.add({"another", {{0, 1}, {999, 2}}});
  expect_sound(chart);
  EXPECT_EQ(count(chart.svg(), "class=\"s0 fill\""), 8u + 1);
  EXPECT_EQ(count(chart.svg(), "class=\"s0 hover\""), 67u);
}

TEST(LineChart, LongNamesStandAboveThePlotAndAreWhole) {
  LineChart chart("", {.label = "d"}, {.label = "error"});
  chart.add({"short", {{1, 1}, {2, 2}}});
  const std::string name = "a model of which the name says how it was trained";
  chart.add({name, {{1, 2}, {2, 3}}});
  expect_sound(chart);
  const std::string svg = chart.svg();
  ASSERT_THAT(svg, HasSubstr(">" + name + "</text>"));
  EXPECT_LT(svg.find(">" + name + "</text>"), svg.find("class=\"axis\""));
}

TEST(LineChart, BreaksLinesAtPointsItCannotShowAndSaysSo) {
  LineChart chart("", {.label = "d", .scale = Scale::kLog},
                  {.label = "error", .scale = Scale::kLog});
  chart.add({"s", {{1, 1}, {2, 2}, {3, 0}, {4, 2}, {0, 1}, {5, kNan}, {6, kInf}, {7, 1}}});
  expect_sound(chart);
  EXPECT_EQ(count(chart.svg(), "class=\"s0 line\" d=\"M") - 1, 3u);  // one more in the names
  EXPECT_THAT(chart.svg(),
              HasSubstr("4 points not shown: not finite, or not positive on a log axis."));
  EXPECT_EQ(chart.numbers().rows().size(), 8u);
}

TEST(LineChart, EmptyChartsSayThatTheyAre) {
  LineChart none("Nothing", {.label = "x"}, {.label = "y"});
  expect_sound(none);
  EXPECT_THAT(none.svg(), HasSubstr("No points to show"));
  none.add({"empty", {}});
  none.add({"not finite", {{kNan, 1}}});
  expect_sound(none);
  EXPECT_THAT(none.svg(), HasSubstr("No points to show"));
  EXPECT_THAT(none.svg(), HasSubstr("1 point not shown: not finite."));
}

TEST(LineChart, TakesAnyMagnitude) {
  const std::vector<std::vector<ChartPoint>> cases = {{{5, 3}},
                                                      {{5, 3, 1}},
                                                      {{0, 0}, {1, 0}},
                                                      {{1, 1e300}, {2, -1e300}},
                                                      {{1, 1e308}, {2, 1}},
                                                      {{1, 1e-320}, {2, 2e-320}},
                                                      {{1e15, 1}, {1e15 + 1, 2}},
                                                      {{1, 1, kInf}, {2, 2, 1e308}},
                                                      {{1, 1e-12}, {2, 5e-12}}};
  for (const auto& points : cases) {
    for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
      for (const SeriesStyle style : {SeriesStyle::kLine, SeriesStyle::kPoints,
                                      SeriesStyle::kPublished, SeriesStyle::kReference}) {
        LineChart chart("t", {.label = "x", .scale = scale}, {.label = "y", .scale = scale});
        chart.add({"s", points, style});
        expect_sound(chart);
      }
    }
  }
}

TEST(LineChart, BandsOnALogAxisAreAsHighBelowAsAbove) {
  for (const double y : {0.01, 1e-200, 1e200}) {
    LineChart chart("Error", {"d"}, {"error", Scale::kLog});
    chart.add({"ours", {{1, y, 9 * y}, {2, y, 9 * y}}});  // the mean less the spread is negative
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
    EXPECT_NEAR(*bottom - std::stod(line[1]), std::stod(line[1]) - *top, 0.1) << y;
  }
}

TEST(LineChart, LongLinesAreThinnedButListedWhole) {
  LineChart chart("", {.label = "step"}, {.label = "loss"});
  Series series{"s", {}};
  for (int i = 0; i < 20000; ++i)
    series.points.push_back({static_cast<double>(i), i == 777 ? 9.0 : 1.0});
  chart.add(series);
  expect_sound(chart);
  EXPECT_LT(chart.svg().size(), 40000u);
  EXPECT_EQ(chart.numbers().rows().size(), 20000u);
}

TEST(ThinLine, KeepsTheEndsAndTheSpike) {
  std::vector<double> x, y;
  for (int i = 0; i < 1000; ++i) {
    x.push_back(i);
    y.push_back(i == 432 ? 50 : 0);
  }
  const auto kept = thin_line(x, y, 20);
  EXPECT_EQ(kept.size(), 20u);
  EXPECT_EQ(kept.front(), 0u);
  EXPECT_EQ(kept.back(), 999u);
  EXPECT_THAT(kept, testing::Contains(432u));
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_EQ(thin_line({1, 2}, {3, 4}, 20), (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(thin_line({}, {}, 20).empty());
}

TEST(BarChart, DrawsOneBarPerFiniteValue) {
  BarChart chart("Leak", {"head <0>", "head 1", "head 2"}, "head", "λ");
  chart.add("keys", {0.9, -0.5, kNan}, {0.1, kNan, 0.1});
  chart.add("values", {0.25, 0, 0.75});
  expect_sound(chart);
  EXPECT_EQ(count(chart.svg(), " bar\"") - 2, 5u);  // two more in the legend
  EXPECT_EQ(count(chart.svg(), "class=\"bar-whisker\""), 1u);
  EXPECT_THAT(chart.svg(), HasSubstr("<title>head &lt;0&gt;\nkeys\nλ: 0.9 ± 0.1</title>"));
  EXPECT_EQ(chart.numbers().rows().size(), 6u);
}

TEST(BarChart, BarsOfZeroStandAtTheLowerEnd) {
  BarChart chart("t", {"a", "b"}, "", "errors (%)");
  chart.add("ours", {0, 0}, {0, kNan});
  expect_sound(chart);
  for (const char* minus : {"-", "−", "–"})
    EXPECT_THAT(chart.svg(), Not(HasSubstr(std::string(">") + minus)));
}

TEST(BarChart, EmptyAndWrongInput) {
  BarChart empty("Nothing", {}, "", "");
  empty.add("none", {});
  expect_sound(empty);
  EXPECT_THAT(empty.svg(), HasSubstr("No points to show"));
  BarChart chart("t", {"a", "b"}, "", "");
  EXPECT_THROW(chart.add("s", {1}), UsageError);
  EXPECT_THROW(chart.add("s", {1, 2}, {1}), UsageError);
  EXPECT_TRUE(chart.numbers().rows().empty());
}

TEST(HeatMap, DrawsEachCell) {
  HeatMap map("p", {"r<0>", "r1"}, {"c0", "c1", "c2"}, {.label = "probability"});
  map.name_axes("input", "output");
  map.set_values({0, 0.5, 1, kNan, 0.25, 0.75});
  map.mark(1, 2);
  expect_sound(map);
  EXPECT_THAT(map.svg(), HasSubstr("<title>r&lt;0&gt;, c2\n1</title>"));
  EXPECT_EQ(count(map.svg(), "class=\"missing\""), 1u);
  EXPECT_EQ(count(map.svg(), "class=\"marked\""), 1u);
  EXPECT_EQ(map.numbers().csv(), "input,c0,c1,c2\nr<0>,0,0.5,1\nr1,nan,0.25,0.75\n");
}

TEST(HeatMap, WrapsLabelsThatANarrowPictureCannotHold) {
  HeatMap map("p", {"r"}, {"c"}, {.label = "share of the answers that are right"});
  map.name_axes("how much of the story stands before it",
                "how long all of that text is which is read before the question comes");
  map.set_values({1});
  const std::string wide = map.svg(), narrow = standalone_svg(map.draw(ChartWidth::kNarrow));
  EXPECT_THAT(wide, HasSubstr("before it  ·  colour: share of the answers that are right</text>"));
  EXPECT_THAT(narrow, HasSubstr(">share of the answers that are right</text>"));
  EXPECT_THAT(
      wide,
      HasSubstr(">how long all of that text is which is read before the question comes</text>"));
  EXPECT_THAT(narrow, HasSubstr(">how long all of that text is which is read before</text>"));
}

TEST(HeatMap, WritesNothingSmallerThanItsColoursShow) {
  HeatMap map("p", {"r"}, {"a", "b"}, {.label = "p", .low = 0, .high = 1});
  map.set_values({5.8e-12, 0.0123});
  const std::string svg = map.svg();
  EXPECT_THAT(svg, HasSubstr(">0</text>"));
  EXPECT_THAT(svg, HasSubstr(">0.012</text>"));
  EXPECT_THAT(svg, HasSubstr("5.8e-12</title>"));  // exact where it is pointed at
  EXPECT_THAT(svg, Not(HasSubstr(">5.8e-12</text>")));
}

TEST(HeatMap, LargeMatricesShowTheMeansOfBlocks) {
  HeatMap map("p", std::vector<std::string>(128, "r"), {"c"}, {.label = "p"});
  std::vector<double> values;
  for (int i = 0; i < 128; ++i) values.push_back(i);
  map.set_values(values);
  expect_sound(map);
  EXPECT_THAT(map.svg(), HasSubstr("\n0.5</title>"));    // rows 0 and 1
  EXPECT_THAT(map.svg(), HasSubstr("\n126.5</title>"));  // rows 126 and 127
  EXPECT_THAT(map.svg(), HasSubstr("128 x 1 values, drawn as the means of 64 x 1 blocks."));
}

TEST(HeatMap, OddAndWrongInput) {
  HeatMap empty("e", {}, {}, {.label = "p"});
  expect_sound(empty);
  HeatMap constant("c", {"a"}, {"b"}, {.label = "p", .scale = Scale::kLog});
  expect_sound(constant);
  constant.set_values({3});
  expect_sound(constant);
  constant.set_values({0});
  expect_sound(constant);
  EXPECT_THAT(constant.svg(), HasSubstr("No points to show"));
  EXPECT_THROW(constant.set_values({1, 2}), UsageError);
  EXPECT_THROW(constant.mark(1, 0), UsageError);
}

TEST(HeatColour, RisesInLightnessFromBlueToYellow) {
  double last = 0;
  for (int i = 0; i <= 20; ++i) {
    const auto [red, green, blue] = heat_colour(i / 20.0);
    const double lightness = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    EXPECT_GT(lightness, last);
    last = lightness;
  }
  EXPECT_GT(heat_colour(0)[2], heat_colour(0)[0]);
  EXPECT_GT(heat_colour(1)[0], heat_colour(1)[2]);
  EXPECT_EQ(heat_colour(-1), heat_colour(0));
}

}  // namespace
}  // namespace tessera
