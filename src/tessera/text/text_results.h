#pragma once

#include <string>
#include <vector>

#include "tessera/report/study_results.h"
#include "tessera/text/text_learner.h"

namespace tessera {

/// A trained model under the name that pictures and tables give it.
struct NamedText {
  std::string name;
  const TextLearner* learner;
  const Trained* trained;
};

/// Adds to a report, for language models trained on one corpus: loss curves, the loss against the
/// position in the window and how many windows it was measured on, a table of final losses and
/// speeds, a sample of each, what was not measured, and, for Memory Mosaics, the learned leaky
/// averages and kernel bandwidths per head.
void add_text_results(const std::vector<NamedText>& trainings, const Corpus& corpus,
                      StudyResults& results);

}  // namespace tessera
