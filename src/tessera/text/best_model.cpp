#include "tessera/text/best_model.h"

#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/sequence_model.h"
#include "tessera/train/checkpoint.h"

namespace tessera {

void save_best_model(SequenceModel& model, const std::filesystem::path& run) {
  if (const auto best = Checkpoints(run / "checkpoints", 1).best())
    Checkpoint::load(*best).restore(model);
  model.eval();
  save_model(run / "model", model);
}

}  // namespace tessera
