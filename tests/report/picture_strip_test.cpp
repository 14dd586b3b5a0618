#include "tessera/report/picture_strip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "tessera/base/error.h"
#include "tests/report/markup_walk.h"

namespace tessera {
namespace {

using testing::HasSubstr;

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

/// The picture that the rectangles paint, one over the other.
std::vector<std::string> painted(const std::vector<ColouredRectangle>& rectangles) {
  std::vector<std::string> rows(static_cast<size_t>(rectangles[0].height),
                                std::string(static_cast<size_t>(rectangles[0].width), ' '));
  for (const auto& [left, top, width, height, colour] : rectangles)
    for (int row = top; row < top + height; ++row)
      for (int column = left; column < left + width; ++column)
        for (const auto& [letter, name] : kColours)
          if (name == colour) rows[static_cast<size_t>(row)][static_cast<size_t>(column)] = letter;
  return rows;
}

TEST(PictureStrip, RectanglesPaintThePicture) {
  const std::vector<std::string> rows = {"..##..", "..##.o", "o...oo", "######"};
  const auto rectangles = even_rectangles(picture_of("p", rows));
  EXPECT_EQ(painted(rectangles), rows);
  EXPECT_EQ(rectangles.size(), 6u);  // ground, square, column, corner, dot, floor
  EXPECT_EQ(rectangles[1].width, 2);
  EXPECT_EQ(rectangles[1].height, 2);
  const std::vector<std::string> even = {"oo", "oo"};
  EXPECT_EQ(even_rectangles(picture_of("p", even)).size(), 1u);
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
