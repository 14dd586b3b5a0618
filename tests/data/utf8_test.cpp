#include "tessera/data/utf8.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Utf8, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(utf8::printable(""), "");
  EXPECT_EQ(utf8::printable("caf\u00E9 \u2014 \U0001F426\n"), "caf\u00E9 \u2014 \U0001F426\n");
  EXPECT_EQ(utf8::printable("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(utf8::printable(std::string_view("\0\r\x7f", 3)), "\\x00\\x0d\\x7f");
  EXPECT_EQ(utf8::printable("\u009B31m"), "\\xc2\\x9b31m");
  EXPECT_EQ(utf8::printable("a\xFF\xE2\x80z"), "a\\xff\\xe2\\x80z");
}

TEST(Utf8, KnowsWhatIsPrintable) {
  for (const char* text : {"", "a b", "\u00A0", "\u00E9\u2014\U0001F426"})
    EXPECT_TRUE(utf8::is_printable(text)) << text;
  for (const char* text : {"a\n", "\t", "\x1b", "\x7f", "\u0080", "\u009F", "\xE9"})
    EXPECT_FALSE(utf8::is_printable(text));
}

}  // namespace
}  // namespace tessera
