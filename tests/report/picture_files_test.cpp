#include "tessera/report/picture_files.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

constexpr const char* kSquare =
    R"(<svg xmlns="http://www.w3.org/2000/svg" width="10" height="8"><rect width="9" height="7"/></svg>)";

TEST(PictureFiles, StandBesideTheirDrawing) {
  require_picture_converter();
  const test::TemporaryFolder folder;
  write_file(folder / "-square.svg", kSquare);
  convert_picture(folder / "-square.svg", PictureFormat::kPng);
  convert_picture(folder / "-square.svg", PictureFormat::kPdf);
  const std::string png = read_file(folder / "-square.png");
  EXPECT_EQ(png.substr(1, 3), "PNG");
  EXPECT_EQ(png.substr(16, 8), std::string("\0\0\0\x14\0\0\0\x10", 8)) << "20 x 16 pixels";
  EXPECT_EQ(read_file(folder / "-square.pdf").substr(0, 5), "%PDF-");
}

TEST(PictureFiles, AreWholeOrNotThere) {
  const test::TemporaryFolder folder;
  write_file(folder / "broken.svg", "<svg");
  EXPECT_THROW(convert_picture(folder / "broken.svg", PictureFormat::kPng), SystemError);
  EXPECT_THROW(convert_picture(folder / "none.svg", PictureFormat::kPdf), SystemError);
  EXPECT_FALSE(std::filesystem::exists(folder / "broken.png"));
  EXPECT_FALSE(std::filesystem::exists(folder / "broken.png.new"));
  write_file(folder / "square.svg", kSquare);
  std::filesystem::create_directory(folder / "square.png");
  EXPECT_THROW(convert_picture(folder / "square.svg", PictureFormat::kPng), SystemError);
  EXPECT_FALSE(std::filesystem::exists(folder / "square.png.new"));
}

}  // namespace
}  // namespace tessera
