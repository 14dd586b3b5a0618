#include "tessera/base/text_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace tessera {
namespace {

TEST(TextMatcher, FindsWhatFindFinds) {
  for (const std::string_view text : {"a", "ab", "aa", "aab", "abab", "aabaab", "abacabab"}) {
    const std::string bytes = "aabaabaabacababacababaaab";
    TextMatcher matcher{std::string(text)};
    for (size_t end = 1; end <= bytes.size(); ++end) {
      const std::string_view so_far = std::string_view(bytes).substr(0, end);
      EXPECT_EQ(matcher.add(bytes[end - 1]), so_far.ends_with(text)) << text << ' ' << so_far;
      size_t longest = std::min(text.size(), end);
      while (!so_far.ends_with(text.substr(0, longest))) --longest;
      EXPECT_EQ(matcher.matched(), longest) << text << ' ' << so_far;
    }
  }
}

}  // namespace
}  // namespace tessera
