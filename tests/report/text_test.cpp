#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/report/text.h"
#include "tests/report/markup_fault.h"

namespace tessera {
namespace {

TEST(ExactText, IsTheShortestThatReadsBack) {
  EXPECT_EQ(exact_text(0.1), "0.1");
  EXPECT_EQ(exact_text(1e22), "1e+22");
  EXPECT_EQ(exact_text(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(exact_text(-2), "-2");
  EXPECT_EQ(exact_text(std::nan("")), "nan");
  EXPECT_EQ(exact_text(-std::nan("")), "nan");
  EXPECT_EQ(exact_text(-std::numeric_limits<double>::infinity()), "-inf");
}

RC_GTEST_PROP(ExactText, ReadsBackBitForBit, (double value)) {
  const std::string text = exact_text(value);
  double back = 0;
  std::from_chars(text.data(), text.data() + text.size(), back);
  RC_ASSERT(back == value);
}

TEST(RoundedText, RoundsAndHasNoNegativeZero) {
  EXPECT_EQ(fixed_text(2.345, 1), "2.3");
  EXPECT_EQ(fixed_text(-0.001, 2), "0.00");
  EXPECT_EQ(fixed_text(std::nan(""), 2), "nan");
  EXPECT_EQ(significant_text(0.020345, 3), "0.0203");
  EXPECT_EQ(significant_text(1234567, 3), "1.23e+06");
  EXPECT_EQ(significant_text(1437.2, 3), "1440");
  EXPECT_EQ(significant_text(-98765, 1), "-100000");
  EXPECT_EQ(significant_text(999999.9, 3), "1e+06");
  EXPECT_EQ(significant_text(-0.0, 3), "0");
  EXPECT_EQ(significant_text(1.7976e308, 2), "1.8e+308");  // beyond what a double holds
  EXPECT_THROW(fixed_text(1, -1), UsageError);
  EXPECT_THROW(significant_text(1, 0), UsageError);
}

TEST(PowerOfTen, WritesSuperscripts) {
  EXPECT_EQ(power_of_ten(0), "10⁰");
  EXPECT_EQ(power_of_ten(-15), "10⁻¹⁵");
}

TEST(ReadableNumber, IsWrittenAsInPrint) {
  EXPECT_EQ(readable_number("1234"), "1234");
  EXPECT_EQ(readable_number("474704907"), "474\u202F704\u202F907");
  EXPECT_EQ(readable_number("-12345.678"), "−12\u202F345.678");
  EXPECT_EQ(readable_number("-2.7e-05"), "−2.7×10⁻⁵");
  EXPECT_EQ(readable_number("1e+15"), "1×10¹⁵");
  for (const char* text : {"", "-", "nan", "inf", "-inf", "0", "0.5", "3 texts", "123456 x", "1e"})
    EXPECT_EQ(readable_number(text), text);
}

TEST(EscapeMarkup, EscapesEverySpecialCharacter) {
  EXPECT_EQ(escape_markup("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escape_markup("</script><!--"), "&lt;/script&gt;&lt;!--");
  EXPECT_EQ(escape_markup(""), "");
}

TEST(PrintableText, ReplacesWhatIsNoText) {
  EXPECT_EQ(printable_text("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(printable_text(std::string_view("\0\x01\x7f", 3)), "���");
  EXPECT_EQ(printable_text("ä € 𝄞"), "ä € 𝄞");
  EXPECT_EQ(printable_text("\xff"), "�");
  EXPECT_EQ(printable_text("\xc2\x80\xc2\x9f\u00a0"), "����\u00a0");  // C1 and what follows it
  EXPECT_EQ(printable_text("\xc3"), "�");                             // cut short
  EXPECT_EQ(printable_text("\xc0\xaf"), "��");                        // overlong '/'
  EXPECT_EQ(printable_text("\xed\xa0\x80"), "���");                   // a surrogate
  EXPECT_EQ(printable_text("\xf4\x90\x80\x80"), "����");              // above U+10FFFF
  EXPECT_EQ(printable_text("\xef\xbf\xbf"), "���");                   // not allowed in XML
}

RC_GTEST_PROP(EscapeMarkup, AnyBytesAreSafeInsideAnElement, (const std::string& bytes)) {
  RC_ASSERT(
      markup_fault("<a b=\"" + escape_markup(bytes) + "\">" + escape_markup(bytes) + "</a>") == "");
}

TEST(WrapText, BreaksBetweenWords) {
  EXPECT_EQ(wrap_text("one two three", 60),
            (std::vector<std::string>{"one two", "three"}));  // 7 x 12 x 0.58 = 49 px
  EXPECT_EQ(wrap_text("unbreakable", 10), std::vector<std::string>{"unbreakable"});
  EXPECT_TRUE(wrap_text("", 10).empty());
}

TEST(ShortenText, KeepsWholeCharacters) {
  EXPECT_EQ(shorten_text("short", 100), "short");
  EXPECT_EQ(shorten_text("ääääääääää", 40), "ääää…");
  EXPECT_EQ(shorten_text("abc", 1), "…");
  EXPECT_EQ(shorten_text(std::string(1 << 20, 'x'), 40), "xxxx…");  // not in time n^2
}

}  // namespace
}  // namespace tessera
