#pragma once

#include <filesystem>

namespace tessera {

class SequenceModel;

/// Gives a trained model the weights of its run's checkpoint with the lowest validation loss (none:
/// its own), and writes it to model/ in the run folder. The model is then in evaluation mode.
/// Throws what Checkpoint::load and save_model throw.
void save_best_model(SequenceModel& model, const std::filesystem::path& run);

}  // namespace tessera
