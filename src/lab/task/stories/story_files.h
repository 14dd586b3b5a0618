#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "lab/task/stories/story.h"
#include "tessera/data/text_source.h"

namespace tessera::task::stories {

/// More than the 2.2 million of BabiStories.
inline constexpr int64_t kMostStories = 100'000'000;

/// The training stories of a seed as documents of a text. Throws UsageError on a number outside
/// 1 … kMostStories.
TextSource story_source(int64_t stories, uint64_t seed);

/// How much is written.
struct StorySizes {
  int64_t stories = 10'000;    ///< to train on
  int64_t words = 0;           ///< where positive: instead, stories until they have so many words
  int64_t validation = 1'000;  ///< stories to validate on; 0: no such file
  int64_t questions = 500;     ///< of each kind; 0: no such file
};

/// Stories of a set one after the other, each with its separator (data/text_source.h): as many
/// as `stories`, or, where that is 0, until they have `words` words. Returns how many there were.
int64_t write_stories(uint64_t set, int64_t stories, int64_t words,
                      const std::function<void(std::string_view)>& write);

/// The first questions of a set's stories, so many of each kind; they stand in the order of their
/// stories. Throws UsageError unless per_kind is 1 … 1,000,000.
std::vector<Question> first_questions(uint64_t set, int64_t per_kind);

/// Writes train.txt, valid.txt and questions.jsonl into a folder, which is created; the questions
/// are about stories that are in neither. Each file appears whole or not at all. Throws UsageError
/// on sizes that make no sense; SystemError.
void write_story_folder(const std::filesystem::path& folder, uint64_t seed,
                        const StorySizes& sizes);

}  // namespace tessera::task::stories
