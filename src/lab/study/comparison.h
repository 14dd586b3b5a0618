#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/study/study.h"
#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/base/suggestion.h"
#include "tessera/text/corpus.h"
#include "tessera/train/learner.h"
#include "tessera/train/trainer.h"

/// How studies train several learners side by side, and the text that they are given.
namespace tessera {

/// The text in this folder below the study's, in tokens. What the folder holds is reused, also when
/// the text has changed since: a study that goes on reads what it began with. Throws what
/// prepare_corpus throws.
Corpus prepare_study_corpus(const CorpusConfig& data, const StudyContext& context,
                            const std::string& folder = "corpus");

/// What a part of the study that has begun wrote into this file of its own, read as JSON or TOML by
/// its name, at `place` ("/data/folder"); `now` where there is no such text. A part that goes on
/// compares the path of what it reads, which is another where the study's folder has been moved.
std::string recorded_path(const std::filesystem::path& file, const std::string& place,
                          const std::filesystem::path& now);

/// Those of `all`, which have a `name` each, that a study's setting `models` names, in its order.
/// Throws UsageError, with the nearest name, on one that is not among them, where one is chosen
/// twice, and where none is.
template <typename Named>
std::vector<Named> chosen_by_name(const std::vector<Named>& all,
                                  const std::vector<std::string>& chosen) {
  std::vector<std::string> names;
  for (const auto& one : all) names.push_back(one.name);
  std::vector<Named> result;
  for (const auto& name : chosen) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw UsageError("models: there is no '{}'; the study has: {}{}", name,
                       fmt::join(names, ", "), suggestion(name, names));
    result.push_back(all[found - names.begin()]);
  }
  if (result.empty())
    throw UsageError("models is empty; the study has: {}", fmt::join(names, ", "));
  check_distinct("models", chosen);
  return result;
}

/// The same training at another rate, of which the lowest rate stays the same share.
TrainConfig at_rate(TrainConfig train, double rate);

/// Whether the network of this table [model] has heads: an LSTM has none.
bool has_heads(const config::Json& model);

/// How deep a network is: "1 block", "4 blocks".
std::string depth_text(int64_t blocks);

/// " ± 1.51": the deviation over several trainings; nothing for one.
std::string deviation_text(const Spread& score, int decimals);
/// What is compared with a published number: "STM, wrong bits (ours ± 1.51)".
std::string with_deviation(const std::string& what, const Spread& score, int decimals);

/// A name as one of a folder or a file: letters and digits, in lower case, a hyphen for whatever
/// lies between them. "STM, n_q = 8" -> "stm-n-q-8".
std::string folder_name(std::string_view name);

/// A model that a study trains.
struct Contestant {
  std::string name;                      ///< in pictures and tables
  config::Json model = {};               ///< its table [model], or what of it is its own
  std::optional<double> published = {};  ///< its score in the paper, in the metric shown first
  std::string folder = {};  ///< of its training, below the study's; empty: its name, "-run" and the
                            ///< number of the run
  int64_t batch = 0;        ///< of its training on a sequence task; 0: as the study trains all
  double learning_rate = 0;  ///< likewise
};

/// A learner of a study after its training.
template <std::derived_from<Learner> L>
struct StudyTraining {
  std::shared_ptr<L> learner;
  Trained trained;
};

/// A contestant's trainings, with seeds of their own.
template <std::derived_from<Learner> L>
struct TrainedContestant {
  std::string name;
  std::optional<double> published;
  std::vector<StudyTraining<L>> trainings;

  const StudyTraining<L>& first() const { return trainings.front(); }
};

/// Trains run `run` of `runs` (from 0) in a folder of its own below the study's, or continues the
/// training that it holds, so that the study may be stopped and started again. Throws Interrupted
/// after a signal, also where one came after the last step.
Trained train_contestant(const StudyContext& context, Learner& learner,
                         const Contestant& contestant, int64_t run = 0, int64_t runs = 1);

/// Trains a learner as the only run of this contestant, likewise.
template <std::derived_from<Learner> L>
StudyTraining<L> train_alone(const StudyContext& context, const std::shared_ptr<L>& learner,
                             const Contestant& contestant) {
  return {learner, train_contestant(context, *learner, contestant)};
}

/// What a training gives; nothing where it diverges, so that a search goes on without it.
template <typename Train>
std::optional<std::invoke_result_t<Train>> unless_diverged(const Train& train) {
  try {
    return train();
  } catch (const Diverged&) {
    return std::nullopt;
  }
}

/// Trains every contestant `runs` times, at least once. make: gives the learner of (contestant,
/// seed), a pointer to it. Throws Interrupted.
template <typename Make>
auto compare(const StudyContext& context, const std::vector<Contestant>& contestants, int64_t runs,
             const Make& make) {
  using L = typename std::invoke_result_t<Make, const Contestant&, uint64_t>::element_type;
  std::vector<TrainedContestant<L>> compared;
  for (const Contestant& contestant : contestants) {
    std::vector<StudyTraining<L>> trainings;
    for (int64_t run = 0; run < runs; ++run) {
      const std::shared_ptr<L> learner = make(contestant, context.training_seed(run));
      trainings.push_back({learner, train_contestant(context, *learner, contestant, run, runs)});
    }
    compared.push_back({contestant.name, contestant.published, std::move(trainings)});
  }
  return compared;
}

}  // namespace tessera
