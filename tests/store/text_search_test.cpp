#include "tessera/store/text_search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

std::vector<TextMatch> matches(const std::string& text, const std::string& document,
                               size_t piece_bytes = 1000, size_t most = SIZE_MAX,
                               Matching matching = Matching::kBytes) {
  std::vector<TextMatch> found;
  std::string_view rest = document;
  const auto next = [&] {
    const std::string_view piece = rest.substr(0, piece_bytes);
    rest.remove_prefix(piece.size());
    return piece;
  };
  const bool whole = find_text(text, matching, "id", next, [&](const MatchThere& match) {
    found.push_back(match());
    return found.size() < most;
  });
  EXPECT_EQ(whole, found.size() < most);
  return found;
}

TEST(TextSearch, SaysWhere) {
  const auto found = matches("blue", "A red\nand a blue stone,\nblue all over: ä blue");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].document, "id");
  EXPECT_EQ(found[0].line, 2);
  EXPECT_EQ(found[0].byte, 12);
  EXPECT_EQ(found[0].before, "and a ");
  EXPECT_EQ(found[0].after, " stone,");
  EXPECT_EQ(found[1].line, 3);
  EXPECT_EQ(found[1].before, "");
  EXPECT_EQ(found[2].before, "blue all over: ä ");
  EXPECT_EQ(found[2].after, "");
}

TEST(TextSearch, KnowsOverlapsLinesAndLimits) {
  EXPECT_EQ(matches("aa", "aaaa").size(), 3u);
  EXPECT_EQ(matches("aa", "aaaa", 1, 2).size(), 2u);
  EXPECT_TRUE(matches("b", "").empty());
  EXPECT_TRUE(matches("long text", "long").empty());
  EXPECT_EQ(matches("a\nb", "a\nb").size(), 1u);
  EXPECT_THROW(matches("", "text"), UsageError);
}

/// Texts and documents that repeat themselves, a million times as often as a hand would compare
/// them.
TEST(TextSearch, OfLongTextsThatRepeatThemselves) {
  const std::string document(2'000'000, 'a'), text(1'000'000, 'a');
  int64_t places = 0;
  const auto count = [&](const MatchThere&) { return ++places > 0; };
  find_text(text, Matching::kBytes, "id", in_pieces(document), count);
  EXPECT_EQ(places, 1'000'001);
  find_text(text + "b", Matching::kBytes, "id", in_pieces(document), count);
  EXPECT_EQ(places, 1'000'001);
}

TEST(TextSearch, FindsWhatIsTypedOtherwise) {
  const std::string text = "a “Watery\r\n  part” — of\nthe Wörld";
  const auto found = matches("\"watery part\" - OF THE WÖRLD", text, 1000, 9, Matching::kLetters);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, text.substr(2));
  EXPECT_EQ(found[0].byte, 2);
  EXPECT_EQ(found[0].before, "a ");
  EXPECT_EQ(matches("watery part", text, 3, 9, Matching::kLetters).size(), 1u);
  EXPECT_TRUE(matches("watery part", text, 3, 9, Matching::kTyped).empty());
  EXPECT_EQ(matches("Watery part", text, 3, 9, Matching::kTyped).size(), 1u);
  EXPECT_TRUE(matches("Watery part", text, 3, 9, Matching::kBytes).empty());
  EXPECT_EQ(matches("wörld", text, 1, 9, Matching::kLetters)[0].character, 28);
  EXPECT_EQ(matches("wörld", text, 1, 9, Matching::kLetters)[0].line, 3);
  EXPECT_EQ(matches(".", "a… b.", 2, 9, Matching::kTyped).size(), 2u);
  EXPECT_THROW(matches("\u200B", text, 3, 9, Matching::kTyped), UsageError);
}

TEST(TextSearch, ShowsWholeCharactersOfLongLines) {
  std::string line;
  for (int i = 0; i < 50; ++i) line += "ä";
  const auto found = matches("here", "x" + line + "here" + "x" + line, 7);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].before, line.substr(0, 60));
  EXPECT_EQ(found[0].after, "x" + line.substr(0, 58));
  EXPECT_TRUE(found[0].goes_on_before && found[0].goes_on_after);
}

TEST(TextSearch, SaysWhetherTheLineGoesOn) {
  const std::string most(60, 'x');
  for (const size_t piece : {1u, 7u, 1000u}) {
    const auto whole = matches("here", "a line\n" + most + "here" + most + "\nanother", piece);
    ASSERT_EQ(whole.size(), 1u);
    EXPECT_EQ(whole[0].before, most);
    EXPECT_FALSE(whole[0].goes_on_before || whole[0].goes_on_after) << piece;
    const auto cut = matches("here", "\nx" + most + "here" + most + "x", piece);
    ASSERT_EQ(cut.size(), 1u);
    EXPECT_EQ(cut[0].before, most);
    EXPECT_TRUE(cut[0].goes_on_before && cut[0].goes_on_after) << piece;
  }
}

RC_GTEST_PROP(TextSearchProperty, AgreesWithLookingAtTheWhole, ()) {
  const auto letter = rc::gen::elementOf(std::string("ab\n"));
  const auto document = *rc::gen::container<std::string>(letter);
  const auto text = *rc::gen::nonEmpty(rc::gen::container<std::string>(letter));
  const auto found = matches(text, document, *rc::gen::inRange<size_t>(1, 8));
  size_t number = 0;
  for (size_t at = document.find(text); at != std::string::npos; at = document.find(text, at + 1)) {
    RC_ASSERT(number < found.size());
    RC_ASSERT(found[number].byte == static_cast<int64_t>(at));
    RC_ASSERT(found[number].line ==
              1 + std::count(document.begin(), document.begin() + static_cast<long>(at), '\n'));
    ++number;
  }
  RC_ASSERT(number == found.size());
}

}  // namespace
}  // namespace tessera::store
