#include "tessera/report/tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tessera/base/error.h"
#include "tests/report/markup_fault.h"

namespace tessera {
namespace {

using testing::HasSubstr;

/// A triangle with one marked side.
Sketch triangle(const std::string& name) {
  return {.name = name,
          .points = {{0, 0, "1"}, {1, 0, "2"}, {0, 1, "<3>"}},
          .lines = {{0, 1, "7"}, {1, 2, "", true}, {2, 0}}};
}

TEST(Sketches, DrawEveryPointLineAndLabel) {
  Sketches sketches("Graphs & paths");
  for (int i = 0; i < 5; ++i) sketches.add(triangle("sample " + std::to_string(i)));
  for (const ChartWidth width : {ChartWidth::kWide, ChartWidth::kNarrow}) {
    const Drawing drawing = sketches.draw(width);
    EXPECT_EQ(markup_fault(standalone_svg(drawing)), "");
    EXPECT_THAT(drawing.body, HasSubstr("sample 4"));
    EXPECT_THAT(drawing.body, HasSubstr("&lt;3&gt;"));
    EXPECT_THAT(drawing.body, HasSubstr("class=\"s0 line\""));
  }
  EXPECT_EQ(sketches.numbers().rows().size(), 5u * (3 + 3));
}

/// y goes upwards: the third point stands above the first.
TEST(Sketches, YGoesUpwards) {
  Sketches sketches("Up");
  sketches.add({.name = "one", .points = {{0, 0}, {0, 1}}, .lines = {{0, 1}}});
  const std::string body = sketches.draw(ChartWidth::kWide).body;
  const auto number_after = [&](const std::string& key) {
    return std::stod(body.substr(body.find(key) + key.size()));
  };
  EXPECT_GT(number_after(" y1=\""), number_after(" y2=\""));
  EXPECT_EQ(number_after(" x1=\""), number_after(" x2=\""));
}

/// A point's label stands on the side that looks away from the others, a line's label on the line.
TEST(Sketches, LabelsKeepClearOfLines) {
  Sketches sketches("Labels");
  sketches.add({.name = "one",
                .points = {{0, 0.5, "left"}, {1, 0.5, "right"}},
                .lines = {{0, 1, "weight"}}});
  const std::string body = sketches.draw(ChartWidth::kWide).body;
  const auto x_of = [&](const std::string& label) {
    const size_t at = body.rfind(" x=\"", body.find(">" + label + "</text>"));
    return std::stod(body.substr(at + 4));
  };
  EXPECT_DOUBLE_EQ(x_of("left"), 16 + 18 - 12);
  EXPECT_DOUBLE_EQ(x_of("right"), 16 + 166 - 18 + 12);
  EXPECT_DOUBLE_EQ(x_of("weight"), 16 + 18 + 0.4 * (166 - 2 * 18));
  EXPECT_LT(body.rfind("<line"), body.find(" halo\""));
}

TEST(Sketches, MayBeEmpty) {
  EXPECT_EQ(markup_fault(Sketches("None").svg()), "");
}

TEST(Sketches, RefusePointsOutsideAndLinesToNowhere) {
  Sketches sketches("Refused");
  EXPECT_THROW(sketches.add({.name = "far", .points = {{1.5, 0}}}), UsageError);
  EXPECT_THROW(sketches.add({.name = "nan", .points = {{0, std::nan("")}}}), UsageError);
  EXPECT_THROW(sketches.add({.name = "loose", .points = {{0, 0}}, .lines = {{0, 1}}}), UsageError);
  EXPECT_EQ(sketches.numbers().rows().size(), 0u);
}

const std::map<char, std::string> kColours = {{'.', "#102030"}, {'#', "#ffffff"}, {'o', "#ff0000"}};

/// A picture of these rows; each letter is a colour.
Picture picture_of(const std::string& name, const std::vector<std::string>& rows) {
  Picture picture{name, static_cast<int>(rows[0].size()), static_cast<int>(rows.size()), {}};
  for (const std::string& row : rows)
    for (const char letter : row)
      for (const size_t first : {1, 3, 5})
        picture.rgb.push_back(
            static_cast<uint8_t>(std::stoi(kColours.at(letter).substr(first, 2), nullptr, 16)));
  return picture;
}

TEST(PictureStrip, RectanglesPaintThePicture) {
  PictureStrip strip("pictures");
  strip.add(picture_of("odd", {"..##..", "..##.o", "o...oo", "######"}));
  strip.add(picture_of("even", {"oo", "oo"}));
  EXPECT_EQ(strip.numbers().csv(),
            "picture,left,top,width,height,colour\n"
            "odd,0,0,6,4,#102030\n"  // the ground
            "odd,2,0,2,2,#ffffff\n"  // a square
            "odd,5,1,1,2,#ff0000\n"  // a column
            "odd,0,2,1,1,#ff0000\n"
            "odd,4,2,1,1,#ff0000\n"
            "odd,0,3,6,1,#ffffff\n"  // the floor
            "even,0,0,2,2,#ff0000\n");
}

TEST(PictureStrip, DrawsEachPictureWithItsName) {
  PictureStrip strip("A <rally>");
  for (int i = 0; i < 5; ++i)
    strip.add(picture_of("frame " + std::to_string(i), {"..#", "...", "..."}));
  for (const ChartWidth width : {ChartWidth::kWide, ChartWidth::kNarrow}) {
    const Drawing drawing = strip.draw(width);
    EXPECT_EQ(markup_fault(standalone_svg(drawing)), "");
    EXPECT_THAT(drawing.body, HasSubstr("frame 4"));
    EXPECT_THAT(drawing.body, HasSubstr("#ffffff"));
  }
  // Two rows of four, or three rows of two which are wider.
  EXPECT_GT(strip.draw(ChartWidth::kNarrow).height, strip.draw(ChartWidth::kWide).height);
  EXPECT_EQ(strip.numbers().rows().size(), 10u);
  EXPECT_THAT(strip.numbers().csv(), HasSubstr("frame 0,2,0,1,1,#ffffff\n"));
}

TEST(PictureStrip, OddAndWrongInput) {
  PictureStrip strip("empty");
  EXPECT_EQ(markup_fault(strip.svg()), "");
  EXPECT_TRUE(strip.numbers().rows().empty());
  EXPECT_THROW(strip.add({"p", 2, 2, {1, 2, 3}}), UsageError);
  EXPECT_THROW(strip.add({"p", 0, 0, {}}), UsageError);
  EXPECT_THROW(strip.add({"p", -1, -1, {1, 2, 3}}), UsageError);
}

}  // namespace
}  // namespace tessera
