#include "tessera/base/checksum.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

TEST(Checksum, IsTheXxh3OfItsBytes) {
  EXPECT_EQ(checksum(""), "2d06800538d394c2");  // known answer of XXH3, seed 0
}

TEST(Checksum, CutsMakeNoDifference) {
  const std::string text(1000, 'x');
  Checksum pieces;
  for (size_t i = 0; i < text.size(); i += 7) pieces.add(std::string_view(text).substr(i, 7));
  EXPECT_EQ(pieces.hex(), checksum(text));
}

TEST(Checksum, EveryFlippedBitShows) {
  const std::string text = "associative memory";
  std::set<std::string> sums = {checksum(text)};
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    sums.insert(checksum(flipped));
  }
  EXPECT_EQ(sums.size(), 8 * text.size() + 1);
}

}  // namespace
}  // namespace tessera
