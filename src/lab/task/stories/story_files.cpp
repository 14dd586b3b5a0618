#include "lab/task/stories/story_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"

namespace tessera::task::stories {
namespace {

constexpr const char* kWritingStopped = "interrupted while stories were written";

int64_t count_words(std::string_view text) {
  return std::count(text.begin(), text.end(), ' ') + std::count(text.begin(), text.end(), '\n') + 1;
}

/// A JSON object in a line: kind, skill, prompt, right and wrong.
std::string question_line(const Question& question) {
  const nlohmann::ordered_json line = {{"kind", config::enum_name(question.kind)},
                                       {"skill", question.skill},
                                       {"prompt", question.prompt},
                                       {"right", question.right},
                                       {"wrong", question.wrong}};
  return line.dump() + "\n";
}

}  // namespace

TextSource story_source(int64_t stories, uint64_t seed) {
  check_range(stories, 1, kMostStories, "stories");
  return TextSource::generated(fmt::format("{} generated stories", stories), stories,
                               [set = split_seed(seed, Split::kTraining)](size_t index) {
                                 return write_story(set, index).text;
                               });
}

int64_t write_stories(uint64_t set, int64_t stories, int64_t words,
                      const std::function<void(std::string_view)>& write) {
  int64_t written = 0;
  for (int64_t seen = 0; stories > 0 ? written < stories : seen < words; ++written) {
    const std::string text = write_story(set, written).text;
    seen += count_words(text);
    write(with_separator(text));
  }
  return written;
}

std::vector<Question> first_questions(uint64_t set, int64_t per_kind) {
  check_range(per_kind, 1, 1'000'000, "stories: questions of a kind");
  std::vector<Question> chosen;
  std::array<int64_t, enum_names(QuestionKind()).size()> of_kind = {};
  for (int64_t index = 0; std::ssize(chosen) < per_kind * std::ssize(of_kind); ++index) {
    InterruptGuard::stop_if_interrupted(kWritingStopped);
    for (Question& question : write_story(set, index).questions)
      if (of_kind[static_cast<size_t>(question.kind)]++ < per_kind)
        chosen.push_back(std::move(question));
  }
  return chosen;
}

void write_story_folder(const std::filesystem::path& folder, uint64_t seed,
                        const StorySizes& sizes) {
  check_range(sizes.stories, 1, kMostStories, "stories: stories to train on");
  check_range(sizes.words, 0, kMostStories * 100, "stories: words to train on");
  check_range(sizes.validation, 0, kMostStories, "stories: stories to validate on");
  check_range(sizes.questions, 0, 1'000'000, "stories: questions of a kind");
  const InterruptGuard guard;
  const auto write_split = [&](const char* name, Split split, int64_t stories, int64_t words) {
    AtomicFile file(folder / name);
    write_stories(split_seed(seed, split), stories, words, [&](std::string_view text) {
      InterruptGuard::stop_if_interrupted(kWritingStopped);
      file.write(text);
    });
    file.commit();
  };
  write_split("train.txt", Split::kTraining, sizes.words > 0 ? 0 : sizes.stories, sizes.words);
  if (sizes.validation > 0) write_split("valid.txt", Split::kValidation, sizes.validation, 0);
  if (sizes.questions == 0) return;
  AtomicFile file(folder / "questions.jsonl");
  for (const Question& question : first_questions(split_seed(seed, Split::kTest), sizes.questions))
    file.write(question_line(question));
  file.commit();
}

}  // namespace tessera::task::stories
