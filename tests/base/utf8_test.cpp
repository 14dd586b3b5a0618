#include "tessera/base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {
namespace {

TEST(Utf8, ValidPrefixStopsAtTheFirstInvalidByte) {
  EXPECT_EQ(utf8::valid_prefix(""), 0u);
  EXPECT_EQ(utf8::valid_prefix("aé€👍"), 10u);
  EXPECT_EQ(utf8::valid_prefix("abcdefgh\xC0\x80"), 8u);  // overlong
  EXPECT_EQ(utf8::valid_prefix("\xED\xA0\x80"), 0u);      // a surrogate
  EXPECT_EQ(utf8::valid_prefix("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(utf8::valid_prefix("a\xE2\x82"), 1u);         // cut short
  EXPECT_EQ(utf8::valid_prefix("\xE0\x9F\xBF"), 0u);      // overlong
}

TEST(Utf8, EveryCodePointComesBack) {
  for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 0x101) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    utf8::append(text, c);
    ASSERT_EQ(utf8::valid_prefix(text), text.size());
    std::string_view rest = text;
    ASSERT_EQ(utf8::take(rest), c);
    ASSERT_TRUE(rest.empty());
  }
}

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

TEST(Utf8, CountsCharactersNotBytes) {
  EXPECT_EQ(utf8::code_points("T = 10⁴"), 7u);
  EXPECT_EQ(utf8::beginning_of("T = 10⁴", 7), "T = 10");
  EXPECT_EQ(utf8::beginning_of("T = 10⁴", 9), "T = 10⁴");
}

TEST(Utf8, CountsColumnsOfATerminal) {
  EXPECT_EQ(utf8::columns("T = 10⁴"), 7u);
  EXPECT_EQ(utf8::columns("記憶 \xF0"), 6u);
  EXPECT_EQ(utf8::beginning_in_columns("T = 10⁴", 7), "T = 10⁴");
  EXPECT_EQ(utf8::beginning_in_columns("T = 10⁴", 6), "T = 10");
  EXPECT_EQ(utf8::beginning_in_columns("記憶", 3), "記");
  EXPECT_EQ(utf8::beginning_in_columns("記憶", 4), "記憶");
}

using Characters = std::vector<std::pair<std::string, std::optional<char32_t>>>;

Characters cut(const std::vector<std::string>& pieces) {
  Characters found;
  utf8::CharacterCutter cutter;
  for (const std::string& piece : pieces)
    cutter.append(piece, [&](std::string_view bytes, std::optional<char32_t> code_point) {
      found.emplace_back(bytes, code_point);
    });
  return found;
}

TEST(Utf8, CutsPiecesThatEndInsideACharacter) {
  const Characters whole{{"a", U'a'}, {"\u00E9", U'\u00E9'}, {"\U0001F426", U'\U0001F426'}};
  EXPECT_EQ(cut({"a\u00E9\U0001F426"}), whole);
  EXPECT_EQ(cut({"a\xC3", "", "\xA9\xF0", "\x9F\x90", "\xA6"}), whole);
  EXPECT_EQ(cut({}), Characters{});
  EXPECT_EQ(cut({"\xF0\x9F"}), Characters{});
}

TEST(Utf8, CutsWhatIsNoUtf8IntoBytes) {
  const Characters expected{{"\xFF", std::nullopt}, {"\xC3", std::nullopt}, {"z", U'z'}};
  EXPECT_EQ(cut({"\xFF\xC3z"}), expected);
  EXPECT_EQ(cut({"\xFF\xC3", "z"}), expected);
  // The second byte rules out what the first one promised: overlong, a surrogate, too large.
  for (const char* start : {"\xE0\x80", "\xED\xA0", "\xF0\x80", "\xF4\x90", "\xC3\xC3"})
    EXPECT_EQ(cut({start}).front().second, std::nullopt);
  for (const char* start : {"\xE0\xA0", "\xED\x80", "\xF0\x90\x80", "\xF4\x8F", "\xE2"})
    EXPECT_TRUE(cut({start}).empty());
}

}  // namespace
}  // namespace tessera
