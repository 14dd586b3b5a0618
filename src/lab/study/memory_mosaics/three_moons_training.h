#pragma once

#include <string>
#include <vector>

#include "lab/learner/moons/complex_mosaic.h"
#include "lab/learner/sequence/task_learner.h"
#include "lab/study/comparison.h"
#include "lab/task/moons/three_moons.h"

/// The trainings of the study three-moons.
namespace tessera::memory_mosaics_study {

/// A way to train networks on three moons, and how often it is tried.
struct MoonRecipe {
  int64_t seeds = 10;
  TrainConfig train = {};
  ComplexStart start = ComplexStart::kUniform;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("seeds", seeds, "trainings, with seeds of their own", config::at_least(1));
    field("train", train, "how the networks are trained");
    field("start", start, "how their matrices begin");
  }
};

/// The authors' recipe, from their code.
MoonRecipe published_recipe();
/// The same with an eighth of the sequences.
MoonRecipe small_batch_recipe();
/// Ours: as small_batch_recipe(), from a unitary matrix.
MoonRecipe our_recipe();

/// A trained network.
struct MoonNetwork {
  int64_t run;  ///< number of the training of its recipe, from 0
  StudyTraining<task::TaskLearner> training;
  double loss;  ///< mean of the last ten updates
  task::Disentanglement found = {};

  ComplexMosaic& mosaic() const;
};

/// The first `runs` trainings of the recipe of this name. They train on the training sets of the
/// task and validate on the held-out one. Throws what compare() throws.
std::vector<MoonNetwork> train_on_moons(StudyContext& context, const task::ThreeMoonsConfig& task,
                                        const MoonRecipe& recipe, const std::string& name,
                                        int64_t heads, int64_t runs);

/// What came of a recipe with three heads.
struct MoonOutcome {
  std::string name;
  MoonRecipe recipe;
  std::vector<MoonNetwork> networks;
};

/// Adds two tables: how often each recipe was successful, and every training.
void add_outcomes(const std::vector<MoonOutcome>& outcomes, double dominance,
                  StudyResults& results);

}  // namespace tessera::memory_mosaics_study
