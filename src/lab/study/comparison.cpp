#include "lab/study/comparison.h"

#include <fmt/ranges.h>

#include <cctype>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/train/metrics_log.h"

namespace tessera {

Corpus prepare_study_corpus(const CorpusConfig& data, const StudyContext& context,
                            const std::string& folder) {
  const auto path = context.folder() / folder;
  const bool begun = std::filesystem::exists(path / "corpus.json");
  Corpus corpus =
      prepare_corpus(data, path, begun ? Start::kResume : Start::kNew, context.progress());
  if (context.progress())
    fmt::print(context.progress(), "Text: {}; {}; {} training and {} validation tokens\n",
               corpus.description, corpus.tokenizer.description(), corpus.training.size(),
               corpus.validation.size());
  return corpus;
}

std::string recorded_path(const std::filesystem::path& file, const std::string& place,
                          const std::filesystem::path& now) {
  if (!is_there(file)) return now.native();
  const config::Json record =
      file.extension() == ".toml" ? config::read_toml(file) : config::read_json(file);
  const config::Json::json_pointer pointer(place);
  if (!record.contains(pointer) || !record.at(pointer).is_string()) return now.native();
  return record.at(pointer).get<std::string>();
}

TrainConfig at_rate(TrainConfig train, double rate) {
  train.min_learning_rate *= rate / train.learning_rate;
  train.learning_rate = rate;
  return train;
}

bool has_heads(const config::Json& model) {
  return model.at("kind") != "lstm";
}

std::string depth_text(int64_t blocks) {
  return fmt::format("{} block{}", blocks, blocks == 1 ? "" : "s");
}

std::string deviation_text(const Spread& score, int decimals) {
  return score.runs > 1 ? fmt::format(" ± {:.{}f}", score.deviation, decimals) : "";
}

std::string with_deviation(const std::string& what, const Spread& score, int decimals) {
  return score.runs > 1 ? fmt::format("{} (ours{})", what, deviation_text(score, decimals)) : what;
}

std::string folder_name(std::string_view name) {
  std::string folder;
  bool is_between = false;
  for (const unsigned char c : name) {
    if (std::isalnum(c) == 0) {
      is_between = true;
      continue;
    }
    if (is_between && !folder.empty()) folder += '-';
    is_between = false;
    folder += static_cast<char>(std::tolower(c));
  }
  return folder;
}

Trained train_contestant(const StudyContext& context, Learner& learner,
                         const Contestant& contestant, int64_t run, int64_t runs) {
  const std::string name = contestant.folder.empty()
                               ? fmt::format("{}-run{}", folder_name(contestant.name), run + 1)
                               : contestant.folder;
  const auto folder = context.folder() / name;
  const bool begun = std::filesystem::exists(folder / MetricsLog::kFile);
  const std::string label =
      runs > 1 ? fmt::format("{}, run {} of {}", contestant.name, run + 1, runs) : contestant.name;
  Trained trained = train(learner, RunFolder(folder, begun ? Start::kResume : Start::kNew),
                          context.progress(), label);
  if (!trained.missing.empty())
    throw Interrupted(fmt::format("stopped after the training in {}; not measured: {}",
                                  folder.native(), fmt::join(trained.missing, ", ")));
  return trained;
}

}  // namespace tessera
