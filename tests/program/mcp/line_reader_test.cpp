#include "program/mcp/line_reader.h"

#include "tests/program/mcp/conversation.h"

namespace tessera::mcp {
namespace {

/// "…" stands for a line that was too long.
std::vector<std::string> lines_of(const std::string& text, size_t longest) {
  const TextStream stream(text);
  LineReader reader(stream.descriptor(), longest);
  std::vector<std::string> lines;
  while (const auto line = reader.next()) lines.push_back(line->too_long ? "…" : line->text);
  return lines;
}

TEST(LineReader, Lines) {
  EXPECT_THAT(lines_of("", 3), ElementsAre());
  EXPECT_THAT(lines_of("\n", 3), ElementsAre(""));
  EXPECT_THAT(lines_of("a\n\nbc\n", 3), ElementsAre("a", "", "bc"));
  EXPECT_THAT(lines_of("a\nlast", 4), ElementsAre("a", "last"));
}

TEST(LineReader, LinesThatAreTooLongAreDropped) {
  EXPECT_THAT(lines_of("abc\nabcd\nab\n", 3), ElementsAre("abc", "…", "ab"));
  EXPECT_THAT(lines_of("ab\nabcd", 3), ElementsAre("ab", "…"));
  const std::string huge(300000, 'x');  // comes in parts
  EXPECT_THAT(lines_of(huge + "\n" + huge + "y\nz\n", 300000), ElementsAre(huge, "…", "z"));
}

TEST(LineReader, WithoutWaitingOnlyWholeLines) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  LineReader reader(ends[0]);
  const auto write = [&](const std::string& text) {
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), std::ssize(text));
  };
  EXPECT_FALSE(reader.at_hand());
  write("one\ntw");
  EXPECT_EQ(reader.at_hand()->text, "one");
  EXPECT_FALSE(reader.at_hand());
  write("o\n");
  EXPECT_EQ(reader.at_hand()->text, "two");
  ::close(ends[1]);
  EXPECT_FALSE(reader.next());
  ::close(ends[0]);
}

}  // namespace
}  // namespace tessera::mcp
