#include "lab/task/babi/story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>

#include "lab/task/babi/simulator.h"
#include "tessera/base/error.h"
#include "tests/support/mutated.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

StoryReader reader_of(const std::string& text) {
  return StoryReader(std::make_unique<std::istringstream>(text), "f");
}

std::vector<BabiStory> stories_of(const std::string& text) {
  StoryReader reader = reader_of(text);
  std::vector<BabiStory> stories;
  for (BabiStory story; reader.next(story);) stories.push_back(story);
  return stories;
}

std::string fault(const std::string& text) {
  return message_of<DataError>([&] { stories_of(text); });
}

TEST(StoryWords, AreLowerCaseAndKeepPunctuation) {
  EXPECT_THAT(babi_words("Where is Mary? "), ElementsAre("where", "is", "mary", "?"));
  EXPECT_THAT(babi_words("The box of chocolates."),
              ElementsAre("the", "box", "of", "chocolates", "."));
  EXPECT_THAT(babi_words("a,b  c?!"), ElementsAre("a", ",", "b", "c", "?!"));
  EXPECT_THAT(babi_words("Zoë_1"), ElementsAre("zoë_1"));
  EXPECT_THAT(babi_words(""), IsEmpty());
}

TEST(StoryReader, ReadsStoriesQuestionsAndSupport) {
  const auto stories = stories_of(
      "1 Mary moved to the bathroom.\n2 John went to the hallway.\n"
      "3 Where is Mary? \tbathroom\t1\n4 Where is John?\thallway\t2 1\r\n"
      "1 Sandra left.\n2 Who left?\tSandra");  // support and the last line's end may lack
  ASSERT_EQ(stories.size(), 2u);
  ASSERT_EQ(stories[0].size(), 4u);
  EXPECT_EQ(stories[0][0], (BabiLine{"Mary moved to the bathroom.", "", {}}));
  EXPECT_FALSE(stories[0][1].is_question());
  EXPECT_EQ(stories[0][2], (BabiLine{"Where is Mary?", "bathroom", {1}}));
  EXPECT_EQ(stories[0][3], (BabiLine{"Where is John?", "hallway", {2, 1}}));
  EXPECT_EQ(stories[1][1], (BabiLine{"Who left?", "Sandra", {}}));
}

TEST(StoryReader, FaultsNameFileAndLine) {
  EXPECT_EQ(fault(""), "f: is empty, expected bAbI stories");
  EXPECT_EQ(fault("1 a.\nb\n"),
            "f:2: the line does not begin with its number, expected a line such as '1 Mary went "
            "to the office.'");
  EXPECT_THAT(fault("1 a.\n\n2 b.\n"), HasSubstr("f:2: the line does not begin"));
  EXPECT_THAT(fault("1\n"), HasSubstr("f:1: the line does not begin"));
  EXPECT_THAT(fault("-1 a.\n"), HasSubstr("f:1: the line does not begin"));
  EXPECT_THAT(fault("1x a.\n"), HasSubstr("f:1: the line does not begin"));
  EXPECT_THAT(fault("99999999999999999999 a.\n"), HasSubstr("f:1: the line does not begin"));
  EXPECT_EQ(fault("2 a.\n"), "f:1: the line has the number 2, expected 1");
  EXPECT_EQ(fault("1 a.\n2 b.\n4 c.\n"),
            "f:3: the line has the number 4, expected 3, or 1 for a new story");
  EXPECT_EQ(fault("1  \n"), "f:1: there is no text behind the line's number");
  EXPECT_EQ(fault("1 a.\n2 \tb\t1\n"), "f:2: there is no text behind the line's number");
  EXPECT_EQ(fault("1 a.\n2 b?\t\t1\n"), "f:2: the question has no answer between its tabs");
  EXPECT_EQ(fault("1 a.\n2 b?\tc\t1\td\n"),
            "f:2: there are more than two tabs, expected question, answer and supporting lines");
  for (const char* support : {"0", "2", "x", "1.5", "-1", "1 7"})
    EXPECT_THAT(fault(std::string("1 a.\n2 b?\tc\t") + support + "\n"),
                HasSubstr("is not the number of a statement above"))
        << support;
  EXPECT_THAT(fault("1 a.\n2 b?\tc\t1\n3 d?\te\t2\n"),  // a question supports nothing
              HasSubstr("f:3: the supporting line '2'"));
}

TEST(StoryReader, RefusesWhatIsNoTextAndWhatHasNoEnd) {
  EXPECT_EQ(fault(std::string("1 a\0b.\n", 7)),
            "f:1: byte 3 is a control character (0x00): this is not a text file");
  EXPECT_THAT(fault("1 a.\n2 caf\xE9.\n"), HasSubstr("f:2: byte 5 is not valid UTF-8"));
  EXPECT_NO_THROW(stories_of("1 " + std::string(4094, 'a') + "\n"));
  EXPECT_EQ(fault("1 " + std::string(4095, 'a') + "\n"), "f:1: the line is longer than 4096 bytes");
  std::string endless;
  for (int line = 1; line <= 10001; ++line) endless += std::to_string(line) + " a.\n";
  EXPECT_EQ(fault(endless), "f:10001: the story is longer than 10000 lines");
}

TEST(StoryReader, NamesAFileThatIsNotThere) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(message_of<SystemError>([&] { StoryReader(folder / "qa1_test.txt"); }),
              HasSubstr("qa1_test.txt"));
}

TEST(StoryReader, ReadsWhatStoriesAreWrittenAs) {
  for (int64_t task = 1; task <= 20; ++task) {
    std::string text;
    std::vector<BabiStory> written;
    for (int64_t index = 0; index < 5; ++index) {
      written.push_back(simulate_story(task, 1, index));
      text += story_text(written.back());
    }
    EXPECT_EQ(stories_of(text), written) << task;
  }
}

TEST(StoryReader, SurvivesMutatedFiles) {
  const std::string valid =
      story_text(simulate_story(1, 0, 0)) + story_text(simulate_story(7, 0, 0));
  const bool held = rc::check("stories or DataError", [&] {
    try {
      for (const BabiStory& story : stories_of(test::mutated(valid))) RC_ASSERT(!story.empty());
    } catch (const DataError& error) {
      RC_ASSERT(std::string(error.what()).starts_with("f:"));
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace tessera::task
