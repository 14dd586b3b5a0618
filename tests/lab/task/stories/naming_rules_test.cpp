#include "lab/task/stories/naming_rules.h"

#include <gtest/gtest.h>

namespace tessera::task::stories {
namespace {

void expect_right(const std::string& prompt, double most, double least) {
  Question question;
  question.prompt = prompt;
  question.right = " the red ball.";
  question.wrong = {" the kite.", " the red boat."};
  const NamingRules rules = right_by_naming(question);
  EXPECT_EQ(rules.most, most) << prompt;
  EXPECT_EQ(rules.least, least) << prompt;
}

TEST(NamingRules, CountTheWordsThatTellContinuationsApart) {
  expect_right("A red thing is the best.", 1. / 3, 1. / 3);  // none is named
  expect_right("Ball! A ball is here, the kite there.", 1, 0);
  expect_right("A ball is here, the kite there, a kite.", 0, 1);
  expect_right("A ball and a kite.", 0.5, 0.5);
  expect_right("The balls are gone; where is a boat?", 0, 0);
}

}  // namespace
}  // namespace tessera::task::stories
