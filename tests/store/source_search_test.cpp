#include "tessera/store/detail/source_search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/memo/texts.h"

namespace tessera::store {
namespace {

using test::pieces_of;

using Tokens = std::vector<int32_t>;

TEST(SourceSearch, FindsTheLongestMatchesFirst) {
  const Tokens text = {1, 2, 3, 4};
  SourceSearch search(text, 2, 1, 2);
  const Tokens one = {9, 2, 3, 1, 2, 3, 4}, other = {2, 3, 4, 3, 4};
  search.read("one", pieces_of(one, 2));
  search.read("other", pieces_of(other, 100));
  ASSERT_EQ(search.found().size(), 2u);
  const TokenSources& three = search.found()[0];  // after 1, 2
  EXPECT_EQ(three.places, 3);
  ASSERT_EQ(three.best.size(), 2u);
  EXPECT_EQ(three.best[0].document, "one");
  EXPECT_EQ(three.best[0].position, 5);
  EXPECT_EQ(three.best[0].matched_length, 2);
  EXPECT_EQ(three.best[1].document, "one");
  EXPECT_EQ(three.best[1].position, 2);
  const TokenSources& four = search.found()[1];
  EXPECT_EQ(four.places, 3);
  EXPECT_EQ(four.best[0].matched_length, 3);
  EXPECT_EQ(four.best[1].document, "other");
  EXPECT_EQ(four.best[1].position, 2);
  EXPECT_EQ(four.best[1].matched_length, 2);
}

TEST(SourceSearch, FindsNothingInNothing) {
  SourceSearch none({}, 0, 1, 3);
  none.read("one", pieces_of(Tokens{1, 2, 3}, 10));
  EXPECT_TRUE(none.found().empty());
  const Tokens text = {1, 2};
  SourceSearch search(text, 1, 1, 3);
  search.read("empty", pieces_of({}, 10));
  search.read("other", pieces_of(Tokens{700, 2, 1, 1}, 10));
  EXPECT_TRUE(search.found()[0].best.empty());
  EXPECT_EQ(search.found()[0].places, 0);
}

RC_GTEST_PROP(SourceSearchProperty, AgreesWithLookingEverywhere, ()) {
  const auto token = rc::gen::inRange(0, *rc::gen::inRange(2, 8));
  const auto text = *rc::gen::container<Tokens>(token);
  const auto document = *rc::gen::container<Tokens>(token);
  const auto first = *rc::gen::inRange<size_t>(0, text.size() + 1);
  const auto shortest = *rc::gen::inRange<int64_t>(1, 4);
  SourceSearch search(text, first, shortest, 2);
  search.read("document", pieces_of(document, *rc::gen::inRange<size_t>(1, 12)));
  for (size_t t = first; t < text.size(); ++t) {
    std::vector<int64_t> lengths;
    for (size_t p = 0; p < document.size(); ++p) {
      if (document[p] != text[t]) continue;
      int64_t matched = 0;
      while (static_cast<size_t>(matched) < std::min(t, p) &&
             document[p - 1 - matched] == text[t - 1 - matched])
        ++matched;
      if (matched >= shortest) lengths.push_back(matched);
    }
    const TokenSources& found = search.found()[t - first];
    RC_ASSERT(found.places == std::ssize(lengths));
    std::sort(lengths.rbegin(), lengths.rend());
    lengths.resize(std::min<size_t>(2, lengths.size()));
    RC_ASSERT(found.best.size() == lengths.size());
    for (size_t i = 0; i < lengths.size(); ++i)
      RC_ASSERT(found.best[i].matched_length == lengths[i]);
  }
}

}  // namespace
}  // namespace tessera::store
