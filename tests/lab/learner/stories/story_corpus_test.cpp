// Stories as the text of a corpus.

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/sequence_task.h"
#include "lab/task/stories/story_files.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/text/corpus.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task::stories {
namespace {

class StoryCorpus : public testing::Test {
 protected:
  const test::TemporaryFolder above_;
  const std::filesystem::path folder_ = above_ / "stories";
};

TEST_F(StoryCorpus, HasGeneratedStoriesWhereItAsksForThem) {
  const CorpusConfig config{.vocabulary = 400, .stories = 40};
  const Corpus corpus = prepare_corpus(config, folder_, Start::kNew, nullptr);
  EXPECT_EQ(corpus.description, "40 generated stories");
  EXPECT_EQ(corpus.training.info().documents, 40);
  std::vector<int64_t> ids(200);
  corpus.training.read(0, ids);
  const std::string begins = corpus.tokenizer.decode(std::vector<int32_t>(ids.begin(), ids.end()));
  EXPECT_EQ(begins, write_story(split_seed(1, Split::kTraining), 0).text.substr(0, begins.size()));

  // The same stories from a file.
  write_story_folder(folder_, 1, {.stories = 40});
  const CorpusConfig from_file{.text = folder_ / "train.txt", .vocabulary = 400};
  const Corpus same = prepare_corpus(from_file, folder_ / "corpus", Start::kNew, nullptr);
  EXPECT_EQ(same.digest, corpus.digest);
}

TEST_F(StoryCorpus, HasStoriesOrAText) {
  CorpusConfig config{.text = "book.txt", .stories = 40};
  EXPECT_THROW(config.check(), UsageError);
  config.text = "";
  config.stories = -1;
  EXPECT_THROW(config.check(), UsageError);
}

TEST_F(StoryCorpus, OfAnotherConfigurationIsGoneOnceTheNewOneIsWritten) {
  CorpusConfig config{.vocabulary = 400, .stories = 40};
  prepare_corpus(config, folder_, Start::kNew, nullptr);
  const CorpusConfig first = config;
  config.stories = 50;
  const InterruptGuard guard;
  std::raise(SIGINT);
  EXPECT_THROW(prepare_corpus(config, folder_, Start::kNew, nullptr), Interrupted);
  EXPECT_EQ(prepare_corpus(first, folder_, Start::kResume, nullptr).description,
            "40 generated stories");  // nothing of the other was written
}

TEST_F(StoryCorpus, OfAnEarlierVersionIsStillKnown) {
  const CorpusConfig config{.text = folder_ / "text.txt", .vocabulary = 300, .stories = 0};
  write_file(config.text, std::string(2000, 'a') + " some text, some more text");
  const Corpus before = prepare_corpus(config, folder_ / "corpus", Start::kNew, nullptr);
  auto record = config::read_json(folder_ / "corpus" / "corpus.json");
  record["config"].erase("stories");
  record["config"].erase("stories_seed");
  write_file(folder_ / "corpus" / "corpus.json", record.dump());
  const Corpus resumed = prepare_corpus(config, folder_ / "corpus", Start::kResume, nullptr);
  EXPECT_EQ(resumed.digest, before.digest);
}

}  // namespace
}  // namespace tessera::task::stories
