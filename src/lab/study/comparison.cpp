#include "lab/study/comparison.h"

#include <fmt/ranges.h>

#include "lab/study/folder_name.h"
#include "tessera/base/error.h"

namespace tessera {

Trained train_contestant(const StudyContext& context, Learner& learner,
                         const Contestant& contestant, int64_t run, int64_t runs) {
  const std::string name = contestant.folder.empty()
                               ? fmt::format("{}-run{}", folder_name(contestant.name), run + 1)
                               : contestant.folder;
  const auto folder = context.folder() / name;
  const bool begun = std::filesystem::exists(folder / "metrics.jsonl");
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
