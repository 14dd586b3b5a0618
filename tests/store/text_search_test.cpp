#include "tessera/store/text_search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/store/store_json.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

std::vector<TextMatch> matches(const std::string& text, const std::string& document,
                               size_t most = SIZE_MAX, Matching matching = Matching::kBytes) {
  std::vector<TextMatch> found;
  const bool whole = find_text(text, matching, "id", document, [&](const MatchThere& match) {
    found.push_back(match());
    return found.size() < most;
  });
  EXPECT_EQ(whole, found.size() < most);
  return found;
}

/// The same where so much stands before the document that one of the pieces that are read ends
/// after these bytes of it.
std::vector<TextMatch> matches_over_border(size_t border, const std::string& text,
                                           const std::string& document, Matching matching) {
  const std::string before((1 << 16) - border, '_');
  auto found = matches(text, before + document, SIZE_MAX, matching);
  for (TextMatch& match : found) {
    match.byte -= std::ssize(before);
    match.character -= std::ssize(before);
  }
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
  EXPECT_EQ(matches("aa", "aaaa", 2).size(), 2u);
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
  find_text(text, Matching::kBytes, "id", document, count);
  EXPECT_EQ(places, 1'000'001);
  find_text(text + "b", Matching::kBytes, "id", document, count);
  EXPECT_EQ(places, 1'000'001);
}

TEST(TextSearch, FindsWhatIsTypedOtherwise) {
  const std::string text = "a “Watery\r\n  part” — of\nthe Wörld";
  const auto found = matches("\"watery part\" - OF THE WÖRLD", text, 9, Matching::kLetters);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, text.substr(2));
  EXPECT_EQ(found[0].byte, 2);
  EXPECT_EQ(found[0].before, "a ");
  EXPECT_EQ(matches("watery part", text, 9, Matching::kLetters).size(), 1u);
  EXPECT_TRUE(matches("watery part", text, 9, Matching::kTyped).empty());
  EXPECT_EQ(matches("Watery part", text, 9, Matching::kTyped).size(), 1u);
  EXPECT_TRUE(matches("Watery part", text, 9, Matching::kBytes).empty());
  EXPECT_EQ(matches("wörld", text, 9, Matching::kLetters)[0].character, 28);
  EXPECT_EQ(matches("wörld", text, 9, Matching::kLetters)[0].line, 3);
  EXPECT_EQ(matches(".", "a… b.", 9, Matching::kTyped).size(), 2u);
  EXPECT_THROW(matches("\u200B", text, 9, Matching::kTyped), UsageError);
}

TEST(TextSearch, ShowsWholeCharactersOfLongLines) {
  std::string line;
  for (int i = 0; i < 50; ++i) line += "ä";
  const auto found = matches("here", "x" + line + "here" + "x" + line);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].before, line.substr(0, 60));
  EXPECT_EQ(found[0].after, "x" + line.substr(0, 58));
  EXPECT_TRUE(found[0].goes_on_before && found[0].goes_on_after);
}

TEST(TextSearch, SaysWhetherTheLineGoesOn) {
  const std::string most(60, 'x');
  const auto whole = matches("here", "a line\n" + most + "here" + most + "\nanother");
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].before, most);
  EXPECT_FALSE(whole[0].goes_on_before || whole[0].goes_on_after);
  const auto cut = matches("here", "\nx" + most + "here" + most + "x");
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].before, most);
  EXPECT_TRUE(cut[0].goes_on_before && cut[0].goes_on_after);
}

TEST(TextSearch, DoesNotDependOnWhereAPieceEnds) {
  const std::string document =
      "a “Watery\r\n  part” — of\nthe…\u200B wörld, a watery \n\n part\n \n";
  for (const std::string text : {"watery part", " ", "part ", ".", "wörld", "- of "}) {
    const auto over_border = [&](size_t border) {
      return matches_over_border(border, text, document, Matching::kLetters);
    };
    const auto whole = over_border(document.size());
    ASSERT_FALSE(whole.empty()) << text;
    for (size_t border = 0; border < document.size(); ++border) {
      const auto found = over_border(border);
      ASSERT_EQ(found.size(), whole.size()) << text << border;
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(json_of(found[i]), json_of(whole[i])) << text << border;
    }
  }
}

RC_GTEST_PROP(TextSearchProperty, AgreesWithLookingAtTheWhole, ()) {
  const auto letter = rc::gen::elementOf(std::string("ab\n"));
  const auto document = *rc::gen::container<std::string>(letter);
  const auto text = *rc::gen::nonEmpty(rc::gen::container<std::string>(letter));
  const auto border = *rc::gen::inRange<size_t>(0, document.size() + 1);
  const auto found = matches_over_border(border, text, document, Matching::kBytes);
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
