// The generated stories beside BabiStories: Zhang et al. 2024, appendix B, table 1.

#include "lab/task/stories/story.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <memory>
#include <set>

#include "lab/study/memory_mosaics/network_training.h"
#include "lab/study/memory_mosaics/studies.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/data/text_encoder.h"
#include "tessera/report/bar_chart.h"

namespace tessera::memory_mosaics_study {
namespace {

using task::Split;
using task::stories::QuestionKind;
using task::stories::Story;

/// Table 1. The paper prints 2.2k validation stories, but its tokens and characters are those of
/// about 22,000.
struct PublishedPart {
  const char* part;
  int64_t stories, tokens, characters;
};
constexpr PublishedPart kTable1[] = {{"train", 2'200'000, 474'704'907, 888},
                                     {"valid", 22'000, 4'749'107, 889}};

struct StorySettings {
  CorpusConfig data;
  int64_t validation_stories = 1000;
  int64_t samples = 6;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("data", data, "how many stories, cut into which tokens");
    field("validation_stories", validation_stories, "stories of the validation part",
          config::at_least(1));
    field("samples", samples, "stories that the report shows");
  }
};

StorySettings story_settings(int64_t stories, int64_t vocabulary) {
  StorySettings settings;
  settings.data.stories = stories;
  settings.data.vocabulary = vocabulary;
  settings.validation_stories = std::max<int64_t>(stories / 100, 100);
  return settings;
}

constexpr size_t kBin = 100;  // characters of a bar of the histogram
constexpr size_t kBins = 22;

/// What is counted in the stories of a part.
struct Counts {
  int64_t stories = 0, tokens = 0, characters = 0, words = 0, sentences = 0;
  int64_t with_dialogue = 0, questions = 0;
  std::vector<int64_t> lengths = std::vector<int64_t>(kBins);  ///< stories by their characters
  std::set<std::string> vocabulary;
  std::vector<ChartPoint> growth;  ///< different words against words read
  std::map<std::pair<QuestionKind, std::string>, int64_t> skills;

  double per_story(int64_t count) const {
    return static_cast<double>(count) / static_cast<double>(stories);
  }
};

/// In lower case, without marks around it and without "'s"; empty for a mark alone.
std::string plain_word(std::string_view word) {
  const auto is_mark = [](char c) { return !std::isalpha(static_cast<unsigned char>(c)); };
  while (!word.empty() && is_mark(word.front())) word.remove_prefix(1);
  while (!word.empty() && is_mark(word.back())) word.remove_suffix(1);
  if (word.ends_with("'s")) word.remove_suffix(2);
  std::string plain(word);
  for (char& c : plain) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

void count_words(std::string_view text, Counts& counts) {
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (std::string word = plain_word(text.substr(0, end)); !word.empty()) {
      ++counts.words;
      counts.vocabulary.insert(std::move(word));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void count_story(const Story& story, Counts& counts) {
  ++counts.stories;
  counts.characters += std::ssize(story.text);
  counts.sentences += std::ssize(story.sentences);
  counts.questions += std::ssize(story.questions);
  counts.with_dialogue += story.text.find('"') != std::string::npos;
  ++counts.lengths[std::min(story.text.size() / kBin, kBins - 1)];
  for (const auto& question : story.questions) ++counts.skills[{question.kind, question.skill}];
  count_words(story.text, counts);
  if (std::has_single_bit(static_cast<uint64_t>(counts.stories)))  // a power of two
    counts.growth.push_back(
        {static_cast<double>(counts.words), static_cast<double>(counts.vocabulary.size())});
}

Counts count_part(uint64_t set, int64_t stories, const Tokenizer& tokenizer,
                  StudyContext& context) {
  Counts counts;
  TextEncoder encoder(tokenizer);
  std::vector<int32_t> ids;
  Progress progress(context.progress(), "Stories", stories);
  for (int64_t index = 0; index < stories; ++index) {
    InterruptGuard::stop_if_interrupted("stopped while counting stories");
    const Story story = task::stories::write_story(set, index);
    count_story(story, counts);
    ids.clear();
    encoder.append(story.text, ids);
    counts.tokens += std::ssize(ids) + 1;  // and the end of text
    progress.advance();
  }
  return counts;
}

/// tokens_unlike: as Comparison::unlike, of the numbers of tokens.
void compare_with_table1(const PublishedPart& published, const Counts& ours,
                         const std::string& tokens_unlike, Table& table, StudyResults& results) {
  const double tokens = static_cast<double>(published.tokens) / published.stories;
  table.add_row({published.part, "stories", published.stories, ours.stories});
  table.add_row({published.part, "tokens", published.tokens, ours.tokens});
  table.add_row({published.part, "characters per story", published.characters,
                 Cell::fixed(ours.per_story(ours.characters), 0)});
  results.compare({.what = fmt::format("characters per story, {}", published.part),
                   .published = static_cast<double>(published.characters),
                   .ours = ours.per_story(ours.characters)});
  results.compare({.what = fmt::format("tokens per story, {}", published.part),
                   .published = tokens,
                   .ours = ours.per_story(ours.tokens),
                   .digits = 4,
                   .unlike = tokens_unlike});
}

Table own_statistics(const Counts& counts) {
  Table table("The training stories, counted", {"what", "value"});
  table.add_row({"words per story", Cell::fixed(counts.per_story(counts.words), 1)});
  table.add_row({"sentences per story", Cell::fixed(counts.per_story(counts.sentences), 1)});
  table.add_row({"different words", std::ssize(counts.vocabulary)});
  table.add_row(
      {"stories with dialogue (%)", Cell::fixed(100 * counts.per_story(counts.with_dialogue), 1)});
  table.add_row({"questions per story", Cell::fixed(counts.per_story(counts.questions), 2)});
  return table;
}

void draw_lengths(const Counts& counts, StudyResults& results) {
  std::vector<std::string> bins;
  std::vector<double> shares;
  for (size_t bin = 0; bin < kBins; ++bin) {
    bins.push_back(std::to_string(bin * kBin));
    shares.push_back(100 * counts.per_story(counts.lengths[bin]));
    results.add_point({.series = "stories (%) by length",
                       .x = static_cast<double>(bin * kBin),
                       .y = shares.back()});
  }
  auto chart = std::make_unique<BarChart>(
      "Length of the stories", bins,
      fmt::format("characters, from this number to {} more", kBin - 1), "stories (%)");
  chart->add("training stories", shares);
  results.add_chart("lengths", std::move(chart),
                    fmt::format("Mean: {:.0f} characters; BabiStories: 888. The last bar has all "
                                "longer ones.",
                                counts.per_story(counts.characters)));
}

void draw_growth(const Counts& counts, StudyResults& results) {
  for (const ChartPoint& point : counts.growth)
    results.add_point({.series = "different words", .x = point.x, .y = point.y});
  results.add_chart("vocabulary",
                    results.chart_of_points("Vocabulary", {"words read", Scale::kLog},
                                            {"different words", Scale::kLog}, {"different words"}),
                    "How many different words a reader has met.");
}

/// Every skill with how many questions ask for it and an example.
Table question_table(const Counts& counts, uint64_t set) {
  std::map<std::pair<QuestionKind, std::string>, task::stories::Question> examples;
  for (int64_t index = 0; examples.size() < counts.skills.size() && index < counts.stories; ++index)
    for (const auto& question : task::stories::write_story(set, index).questions)
      examples.try_emplace({question.kind, question.skill}, question);
  Table table("Questions, and how many of them 1000 stories have",
              {"kind and skill", "per 1000", "the prompt ends with", "right", "wrong"});
  for (const auto& [group, count] : counts.skills) {
    const auto& example = examples.at(group);
    const size_t sentence = example.prompt.rfind(". ", example.prompt.size() - 25);
    const size_t begin = sentence == std::string::npos ? 0 : sentence + 2;
    table.add_row({fmt::format("{}: {}", config::enum_name(group.first), group.second),
                   Cell::fixed(1000 * counts.per_story(count), 0), example.prompt.substr(begin),
                   example.right, fmt::format("{}", fmt::join(example.wrong, " /"))});
  }
  return table;
}

}  // namespace

void stories(StudyContext& context) {
  StorySettings quick = story_settings(5000, 2048), standard = story_settings(100'000, 4096),
                paper = story_settings(2'200'000, kGpt2Tokens);
  for (StorySettings* settings : {&quick, &standard, &paper})
    settings->data.stories_seed = context.seed();
  const StorySettings settings = context.settings(quick, standard, paper, kNoSetting);
  if (settings.data.stories < 1)
    throw UsageError("data.stories is {}, expected 1 or more", settings.data.stories);
  const Corpus corpus = prepare_study_corpus(settings.data, context);
  const auto seed = static_cast<uint64_t>(settings.data.stories_seed);
  const uint64_t training_set = task::split_seed(seed, Split::kTraining);
  const Counts training =
      count_part(training_set, settings.data.stories, corpus.tokenizer, context);
  const Counts validation = count_part(task::split_seed(seed, Split::kValidation),
                                       settings.validation_stories, corpus.tokenizer, context);

  StudyResults& results = context.results();
  Table table1("Table 1", {"part", "what", "published", "ours"});
  const std::string tokens_unlike = has_gpt2_tokens(settings.data, corpus) ? "" : "other tokens";
  compare_with_table1(kTable1[0], training, tokens_unlike, table1, results);
  compare_with_table1(kTable1[1], validation, tokens_unlike, table1, results);
  results.add_table("table-1", std::move(table1));
  results.add_table("statistics", own_statistics(training));
  draw_lengths(training, results);
  draw_growth(training, results);
  results.add_table("questions", question_table(training, training_set));
  for (int64_t index = 0; index < settings.samples; ++index)
    results.add_text(fmt::format("Story {}", index),
                     task::stories::write_story(training_set, index).text);
  results.add_difference(
      "The stories are told by a program with a simulated world, not by Mixtral-8x7B: their events "
      "agree with each other, and their plots and words are fewer.");
  add_token_difference(settings.data, corpus, results);
  results.add_difference(
      "The paper prints 2.2k validation stories; its tokens per story are those of 22,000, which "
      "is used here.");
  results.add_command(
      "Write such stories to files:",
      fmt::format("tessera data stories --out stories --stories {}", settings.data.stories));
}

}  // namespace tessera::memory_mosaics_study
