#include "tessera/store/detail/normal_form.h"

#include <gtest/gtest.h>

namespace tessera::store {
namespace {

std::string normal(const std::string& text, Matching matching, size_t piece = 1000) {
  NormalForm form(matching);
  for (size_t at = 0; at < text.size(); at += piece) form.append(text.substr(at, piece));
  return form.text();
}

TEST(NormalForm, IsHowATextIsTyped) {
  EXPECT_EQ(normal("part\n  of\tthe \r\n world", Matching::kTyped), "part of the world");
  EXPECT_EQ(normal("“No” – said he—‘well’…", Matching::kTyped), "\"No\" - said he-'well'...");
  EXPECT_EQ(normal("a--b co\u00ADop\u200B", Matching::kTyped), "a-b coop");
  EXPECT_EQ(normal("Not Ä", Matching::kTyped), "Not Ä");
  EXPECT_EQ(normal("Not ÄÖ ΑΩ ЖЁ ČŽ", Matching::kLetters), "not äö αω жё čž");
  EXPECT_EQ(normal("ΧΕΙΜΏΝΑΣ", Matching::kLetters), normal("χειμώνας", Matching::kLetters));
  EXPECT_EQ(normal("Ό Ớ Ґ Ÿ × Ա", Matching::kLetters), "ό ớ ґ ÿ × ա");
  EXPECT_EQ(normal("a\n“b”", Matching::kBytes), "a\n“b”");
}

TEST(NormalForm, DoesNotDependOnThePieces) {
  const std::string text = "é  “—” \n\n x…ß";
  for (size_t piece = 1; piece < 6; ++piece)
    EXPECT_EQ(normal(text, Matching::kLetters, piece), "é \"-\" x...ß") << piece;
}

TEST(NormalForm, KeepsBytesThatAreNoText) {
  EXPECT_EQ(normal("a\xFF\x80 b\xC3(", Matching::kLetters), "a\xFF\x80 b\xC3(");
}

TEST(NormalForm, KnowsWhereItsBytesComeFrom) {
  NormalForm form(Matching::kLetters);
  form.append("É \n“x");
  ASSERT_EQ(form.text(), "é \"x");
  EXPECT_EQ(form.begin(2), 2);
  EXPECT_EQ(form.end(2), 4) << "two characters of white space are one space";
  EXPECT_EQ(form.begin(3), 4);
  EXPECT_EQ(form.end(3), 7);
  form.drop(3);
  EXPECT_EQ(form.text(), "\"x");
  EXPECT_EQ(form.begin(1), 7);
}

}  // namespace
}  // namespace tessera::store
