#include "lab/task/stories/story_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/file.h"
#include "tessera/data/text_source.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task::stories {
namespace {

namespace fs = std::filesystem;

class StoryFiles : public testing::Test {
 protected:
  const test::TemporaryFolder above_;
  const fs::path folder_ = above_ / "stories";
};

std::vector<std::string> documents_of(const std::string& text) {
  std::vector<std::string> documents;
  for_each_document(text, [&](std::string_view document) { documents.emplace_back(document); });
  return documents;
}

TEST_F(StoryFiles, HoldDifferentStoriesForTrainingAndValidation) {
  write_story_folder(folder_, 3, {.stories = 6, .validation = 4, .questions = 2});
  const auto training = documents_of(read_file(folder_ / "train.txt"));
  const auto validation = documents_of(read_file(folder_ / "valid.txt"));
  ASSERT_EQ(training.size(), 6u);
  ASSERT_EQ(validation.size(), 4u);
  EXPECT_EQ(training[2], write_story(split_seed(3, Split::kTraining), 2).text);
  EXPECT_EQ(validation[1], write_story(split_seed(3, Split::kValidation), 1).text);
}

TEST_F(StoryFiles, QuestionsAreJsonLinesWithTheTruth) {
  write_story_folder(folder_, 3, {.stories = 1, .validation = 0, .questions = 5});
  EXPECT_FALSE(fs::exists(folder_ / "valid.txt"));
  std::istringstream lines(read_file(folder_ / "questions.jsonl"));
  std::map<std::string, int> kinds;
  for (std::string line; std::getline(lines, line);) {
    const auto question = nlohmann::json::parse(line);
    ++kinds[question.at("kind")];
    EXPECT_TRUE(question.at("right").get<std::string>().size() > 1);
    EXPECT_GE(question.at("wrong").size(), 1u);
    EXPECT_FALSE(question.at("prompt").get<std::string>().empty());
  }
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"fact", 5}, {"consistency", 5}, {"logic", 5}}));
}

TEST_F(StoryFiles, MayBeAskedForByWords) {
  int64_t words = 0;
  std::string last;
  const auto count = [](const std::string& text) {
    std::istringstream stream(text);
    return std::distance(std::istream_iterator<std::string>(stream), {});
  };
  const int64_t stories = write_stories(1, 0, 1000, [&](std::string_view text) {
    last = documents_of(std::string(text)).at(0);
    words += count(last);
  });
  EXPECT_GE(words, 1000);
  EXPECT_LT(words - count(last), 1000);
  EXPECT_GT(stories, 1);
}

TEST_F(StoryFiles, RefuseSizesThatMakeNoSense) {
  EXPECT_THROW(write_story_folder(folder_, 1, {.stories = 0}), UsageError);
  EXPECT_THROW(write_story_folder(folder_, 1, {.words = -1}), UsageError);
  EXPECT_THROW(write_story_folder(folder_, 1, {.validation = -1}), UsageError);
  EXPECT_THROW(write_story_folder(folder_, 1, {.questions = 1'000'001}), UsageError);
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_THROW(first_questions(1, 0), UsageError);
  EXPECT_THROW(story_source(0, 1), UsageError);
}

}  // namespace
}  // namespace tessera::task::stories
