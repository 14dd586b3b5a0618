#include "tessera/plan/counts_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::theory {
namespace {

class CountsFile : public ::testing::Test {
 protected:
  std::vector<double> read(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    return read_counts_file(path_);
  }
  std::string complaint_about(const std::string& content) {
    return test::message_of<DataError>([&] { read(content); });
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "counts.txt";
};

TEST_F(CountsFile, CountsWithAndWithoutNames) {
  EXPECT_EQ(read("the\t1043\nof 5\n\n0\r\n  7  \na b\t2"), (std::vector<double>{1043, 5, 0, 7, 2}));
  EXPECT_EQ(read("9007199254740992"), (std::vector<double>{9007199254740992.0}));
}

TEST_F(CountsFile, AByteOrderMarkIsPartOfNoCountAndNoName) {
  EXPECT_EQ(read("\uFEFF10\n5\n"), (std::vector<double>{10, 5}));
  EXPECT_EQ(read("\uFEFF\n5\n"), (std::vector<double>{5}));
  EXPECT_THAT(complaint_about("\uFEFFthe\t5\nthe\t2\n"),
              ::testing::HasSubstr("lines 1 and 2 count the same, \"the\""));
  EXPECT_THAT(complaint_about("5\n\uFEFF10\n"), ::testing::HasSubstr("line 2"));
}

TEST_F(CountsFile, JunkIsRefusedWithItsLine) {
  using ::testing::HasSubstr;
  for (const std::string junk : {"x", "-1", "1.5", "nan", "1e5", "the\t", "99999999999999999999",
                                 "9007199254740993", "0x10", "12abc", "+3"})
    EXPECT_THAT(complaint_about("3\n" + junk + "\n"), HasSubstr("line 2")) << junk;
  EXPECT_THAT(complaint_about(std::string("1\n\0\x01\n", 5)), HasSubstr("\"??\""));
  EXPECT_THAT(complaint_about(std::string(1000000, 'a')), HasSubstr("…"));
}

TEST_F(CountsFile, LinesThatAreTooLongAreRefused) {
  using ::testing::HasSubstr;
  const std::string longest = std::string((1 << 16) - 2, 'a') + "\t5";
  EXPECT_EQ(read(longest), std::vector<double>{5});
  EXPECT_EQ(read("1\n" + longest + "\n2\n"), (std::vector<double>{1, 5, 2}));
  EXPECT_THAT(complaint_about("1\na" + longest + "\n"),
              HasSubstr("line 2 has more than 65536 bytes"));
  EXPECT_THAT(complaint_about("1\na" + longest), HasSubstr("line 2 has more than 65536 bytes"));
}

TEST_F(CountsFile, NamesThatComeTwiceAreRefused) {
  using ::testing::HasSubstr;
  EXPECT_THAT(complaint_about("the\t5\nof 3\nthe 2\n"),
              HasSubstr("lines 1 and 3 count the same, \"the\""));
  EXPECT_EQ(read("5\n5\n5\n").size(), 3u);  // counts without names
}

TEST_F(CountsFile, NothingCountedIsRefused) {
  EXPECT_THROW(read(""), DataError);
  EXPECT_THROW(read("\n\n"), DataError);
  EXPECT_THROW(read("0\n0\n"), DataError);
  EXPECT_THROW(read_counts_file("/no/such/counts"), SystemError);
  EXPECT_THROW(read_counts_file(folder_.path()), std::runtime_error);
}

}  // namespace
}  // namespace tessera::theory
