// What a Memory Mosaic and a GPT make of stories: the 24 prompts of Zhang et al. 2024, tables 4 and
// 5, continued by both, and generated questions that are scored without a reader.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "lab/study/memory_mosaics/network_training.h"
#include "lab/study/memory_mosaics/studies.h"
#include "lab/task/sequence/sequence_task.h"
#include "lab/task/stories/naming_rules.h"
#include "lab/task/stories/paper_prompts.h"
#include "lab/task/stories/story_files.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/infer/beam_search.h"
#include "tessera/infer/model_folder.h"
#include "tessera/infer/scoring.h"
#include "tessera/model/language_model.h"
#include "tessera/report/bar_chart.h"

namespace tessera::memory_mosaics_study {
namespace {

using task::stories::kPaperPrompts;
using task::stories::Question;
using task::stories::QuestionKind;

struct PromptSettings : NetworkSettings {
  std::string mosaic = {}, gpt = {};
  int64_t beams = 2;
  int64_t tokens = 30;
  int64_t questions = 500;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    NetworkSettings::visit_fields(field);
    field("mosaic", mosaic, "model directory of a Memory Mosaic; none: one is trained");
    field("gpt", gpt, "model directory of a GPT; none: one is trained");
    field("beams", beams, "width of the beam search that continues the prompts",
          config::at_least(1));
    field("tokens", tokens, "maximum number of tokens of a continuation", config::at_least(1));
    field("questions", questions, "generated questions of each kind", config::at_least(1));
  }
};

/// The paper's: the networks of table 4 and the schedule of figure 7, on as many stories as
/// BabiStories has. Else small batches and no dropout: with few tokens to learn from, more updates
/// count more than smoother ones.
PromptSettings prompt_settings(StudySize size) {
  const bool is_paper = size == StudySize::kPaper;
  PromptSettings settings = {story_settings(is_paper ? size : StudySize::kDefault)};
  settings.sample = {.prompt = "Once upon a time", .tokens = 150};
  if (is_paper) {
    settings.layers = 18;
    settings.questions = 1000;
    return settings;
  }
  settings.dropout = 0;
  settings.train = {.steps = 8000,
                    .batch = 4,
                    .learning_rate = 4e-3,
                    .min_learning_rate = 2e-4,
                    .warmup_steps = 200,
                    .evaluate_every = 400,
                    .evaluate_batches = 8,
                    .checkpoint_every = 400};
  if (size == StudySize::kDefault) return settings;
  settings.data.stories = 5000;
  settings.data.vocabulary = 1024;
  settings.layers = 2;
  settings.channels = 64;
  settings.questions = 200;
  settings.tokens = 20;
  settings.train.steps = 3000;
  settings.train.batch = 2;
  settings.train.learning_rate = 5e-3;
  settings.train.warmup_steps = 100;
  settings.train.evaluate_every = 300;
  return settings;
}

/// A model with its tokenizer, as a reader of stories.
class Reader {
 public:
  Reader(std::string name, ModelFolder folder)
      : name_(std::move(name)), folder_(std::move(folder)) {
    folder_.model->eval();
  }

  const std::string& name() const { return name_; }

  /// How it goes on, to the end of the first sentence: the paper cuts by hand to the shortest
  /// length that answers.
  std::string continuation(const std::string& prompt, const PromptSettings& settings) const {
    const BeamOptions options{.beams = settings.beams,
                              .max_tokens = settings.tokens,
                              .end_of_text = folder_.tokenizer.end_of_text()};
    const auto found = beam_search(*folder_.model, from_the_beginning(prompt), options);
    if (found.empty()) return "";
    std::vector<int32_t> ids(found.front().tokens.begin(), found.front().tokens.end());
    if (found.front().ended) ids.pop_back();
    const std::string text = folder_.tokenizer.decode(ids);
    size_t end = text.find_first_of(".!?");
    if (end == std::string::npos) return text;
    if (text.substr(end + 1).starts_with('"')) ++end;
    return text.substr(0, end + 1);
  }

  struct Answer {
    bool is_right = false;    ///< the right continuation is more probable than every wrong one
    bool is_written = false;  ///< greedy decoding would write it
  };
  Answer answer(const Question& question) const {
    std::vector<Continuation> requests = {continued(question, question.right)};
    for (const std::string& wrong : question.wrong) requests.push_back(continued(question, wrong));
    const auto scores = score_continuations(*folder_.model, requests);
    const auto best_wrong = std::max_element(
        scores.begin() + 1, scores.end(),
        [](const auto& a, const auto& b) { return a.log_probability < b.log_probability; });
    return {scores.front().log_probability > best_wrong->log_probability, scores.front().greedy};
  }

 private:
  /// After an end of text, as every story of the training text is.
  Tokens from_the_beginning(const std::string& text) const {
    Tokens tokens = folder_.encode(text);
    if (const auto end = folder_.tokenizer.end_of_text()) tokens.insert(tokens.begin(), *end);
    return tokens;
  }
  Continuation continued(const Question& question, const std::string& text) const {
    return {from_the_beginning(question.prompt), folder_.encode(text)};
  }

  std::string name_;
  ModelFolder folder_;
};

/// The two readers, and how those that this study trained were trained.
struct Readers {
  std::vector<Reader> all;
  std::unique_ptr<const Corpus> corpus;  ///< what they were trained on; learners refer to it
  std::vector<TrainedNetwork> trained;
};

/// From the directories that the settings name, or trained here.
Readers make_readers(const PromptSettings& settings, const StudyContext& context) {
  // What is given is read before anything is trained.
  const auto given = [](const std::string& name, const std::string& folder) {
    return folder.empty() ? std::optional<Reader>() : Reader(name, ModelFolder::load(folder));
  };
  const auto gpt = given("GPT", settings.gpt), mosaic = given("Memory Mosaic", settings.mosaic);
  Readers readers;
  if (!gpt || !mosaic)
    readers.corpus = std::make_unique<Corpus>(prepare_study_corpus(settings.data, context));
  const auto trained = [&](const std::string& name, const std::string& kind) {
    auto networks = train_networks(settings, {network_of(name, kind)}, *readers.corpus, context);
    readers.trained.push_back(std::move(networks.front()));
    return Reader(name, {readers.trained.back().first().learner->model(), readers.corpus->tokenizer,
                         nullptr});
  };
  readers.all.push_back(gpt ? *gpt : trained("GPT", "gpt"));
  readers.all.push_back(mosaic ? *mosaic : trained("Memory Mosaic", "memory_mosaic"));
  return readers;
}

void add_training(const Readers& readers, const PromptSettings& settings, StudyResults& results) {
  if (!readers.corpus) return;
  add_network_results(readers.trained, *readers.corpus, results);
  add_text_difference(settings.data, *readers.corpus, results);
  add_size_difference(settings, 18, results);
  if (settings.dropout != NetworkSettings().dropout)
    results.add_difference(
        fmt::format("Dropout {:g}; the paper: {:g}.", settings.dropout, NetworkSettings().dropout));
}

void continue_prompts(const std::vector<Reader>& readers, const PromptSettings& settings,
                      StudyContext& context) {
  std::vector<std::string> columns = {"prompt", "published, Transformer",
                                      "published, Memory Mosaic"};
  for (const Reader& reader : readers) columns.push_back("ours, " + reader.name());
  Table table("The 24 prompts, continued", columns);
  Progress progress(context.progress(), "Prompts", std::ssize(kPaperPrompts));
  for (const auto& prompt : kPaperPrompts) {
    InterruptGuard::stop_if_interrupted("stopped while continuing the prompts");
    std::vector<Cell> row = {prompt.prompt, prompt.transformer, prompt.mosaic};
    for (const Reader& reader : readers)
      row.emplace_back(reader.continuation(std::string(prompt.prompt), settings));
    table.add_row(std::move(row));
    progress.advance();
  }
  context.results().add_table("prompts", std::move(table));
}

/// Answers of a group of questions.
struct Score {
  double chance = 0;                      ///< expected number of right answers of a guess
  task::stories::NamingRules named = {};  ///< the same of who only counts names
  std::vector<int64_t> right, written;
  int64_t questions = 0;

  void add(const Question& question, const std::vector<Reader::Answer>& answers) {
    ++questions;
    chance += 1.0 / static_cast<double>(question.wrong.size() + 1);
    const auto [most, least] = task::stories::right_by_naming(question);
    named.most += most;
    named.least += least;
    right.resize(answers.size());
    written.resize(answers.size());
    for (size_t i = 0; i < answers.size(); ++i) {
      right[i] += answers[i].is_right;
      written[i] += answers[i].is_written;
    }
  }
  double percent(double count) const { return 100 * count / static_cast<double>(questions); }
};

/// Scores by kind and by skill, in the order of the kinds.
using Scores = std::map<std::pair<QuestionKind, std::string>, Score>;

Scores ask_questions(const std::vector<Reader>& readers, const PromptSettings& settings,
                     StudyContext& context) {
  const uint64_t set = task::split_seed(context.seed(), task::Split::kTest);
  const auto questions = task::stories::first_questions(set, settings.questions);
  Scores scores;
  Progress progress(context.progress(), "Questions", std::ssize(questions));
  for (const Question& question : questions) {
    InterruptGuard::stop_if_interrupted("stopped while asking questions");
    std::vector<Reader::Answer> answers;
    for (const Reader& reader : readers) answers.push_back(reader.answer(question));
    for (const std::string& skill : {std::string(), question.skill})  // "": all of the kind
      scores[{question.kind, skill}].add(question, answers);
    progress.advance();
  }
  return scores;
}

void tabulate(const std::vector<Reader>& readers, const Scores& scores, StudyResults& results) {
  std::vector<std::string> columns = {"kind", "questions", "chance (%)", "named most often (%)",
                                      "named least often (%)"};
  for (const Reader& reader : readers) columns.push_back(reader.name() + " (%)");
  for (const Reader& reader : readers) columns.push_back(reader.name() + " writes it (%)");
  std::vector<std::string> skill_columns = columns;
  skill_columns.insert(skill_columns.begin() + 1, "what decides");
  Table kinds("Questions answered rightly", columns), skills("By what decides", skill_columns);
  for (const auto& [group, score] : scores) {
    std::vector<Cell> row = {config::enum_name(group.first), score.questions,
                             Cell::fixed(score.percent(score.chance), 1),
                             Cell::fixed(score.percent(score.named.most), 1),
                             Cell::fixed(score.percent(score.named.least), 1)};
    for (int64_t right : score.right)
      row.push_back(Cell::fixed(score.percent(static_cast<double>(right)), 1));
    for (int64_t written : score.written)
      row.push_back(Cell::fixed(score.percent(static_cast<double>(written)), 1));
    if (!group.second.empty()) row.insert(row.begin() + 1, group.second);
    (group.second.empty() ? kinds : skills).add_row(std::move(row));
  }
  results.add_table("questions", std::move(kinds));
  results.add_table("skills", std::move(skills));
}

void draw(const std::vector<Reader>& readers, const Scores& scores, StudyResults& results) {
  std::vector<std::string> names;
  std::vector<double> chance, most, least;
  std::vector<std::vector<double>> shares(readers.size()), spreads(readers.size());
  for (const auto& [group, score] : scores) {
    if (!group.second.empty()) continue;
    names.push_back(config::enum_name(group.first));
    chance.push_back(score.percent(score.chance));
    most.push_back(score.percent(score.named.most));
    least.push_back(score.percent(score.named.least));
    for (size_t i = 0; i < readers.size(); ++i) {
      const double share = score.percent(static_cast<double>(score.right[i]));
      shares[i].push_back(share);
      spreads[i].push_back(std::sqrt(share * (100 - share) / static_cast<double>(score.questions)));
      results.add_point({.series = readers[i].name(),
                         .x = static_cast<double>(group.first),
                         .y = share,
                         .spread = spreads[i].back()});
    }
  }
  auto chart = std::make_unique<BarChart>("Questions answered rightly", names, "kind of question",
                                          "right (%)");
  for (size_t i = 0; i < readers.size(); ++i) chart->add(readers[i].name(), shares[i], spreads[i]);
  chart->add("chance", chance);
  chart->add("named most often", most);
  chart->add("named least often", least);
  results.add_chart(
      "right-answers", std::move(chart),
      "An answer is right where the model gives the right continuation a higher probability than "
      "every wrong one. Whiskers: one standard error. Named most or least often: who understands "
      "nothing and takes, of the continuations that the story has named, the one that it has named "
      "most or least often.");
}

}  // namespace

void prompts(StudyContext& context) {
  const PromptSettings settings = context.settings(prompt_settings, kNoSetting);
  const Readers readers = make_readers(settings, context);
  const Scores scores = ask_questions(readers.all, settings, context);
  StudyResults& results = context.results();
  draw(readers.all, scores, results);
  continue_prompts(readers.all, settings, context);
  tabulate(readers.all, scores, results);
  add_training(readers, settings, results);
  results.add_difference(
      "Continuations end with their first sentence; the paper's were cut by hand and judged by a "
      "reader. The questions with their known answers are ours; the paper has no number for them.");
  results.add_command("More such questions, as JSON lines:",
                      "tessera data stories --out stories --questions 1000");
}

}  // namespace tessera::memory_mosaics_study
