#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/checkpoint/model_directory.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

class SequenceModel;

/// Whose names the gradients get: our own, or those of the format that the model was imported from.
enum class ParameterNames { kOwn, kSource };
constexpr std::array<std::string_view, 2> enum_names(ParameterNames) {
  return {"own", "source"};
}

struct ForwardOptions {
  bool gradients = false;
  ParameterNames names = ParameterNames::kOwn;
  std::string device = "cpu";
};

/// Runs the model on given tensors, without dropout.
///
/// A language model: from `idx` [B, T] (whole numbers) `logits` [B, T, V]; with `targets` [B, T]
/// (-1 does not count) also `loss` [1], nats per token. A model of vectors: from `x` [T, B, in] `y`
/// [T, B, out] and the tensors of its state after the last step, such as `item_memory` [B, D, D];
/// with `targets` [T, B, out] also `loss` [1], the mean squared error. In the file of a task, which
/// has `inputs` [T, B, in] or tokens [T, B], and `answers`, the targets are ignored, and gradients
/// refused.
///
/// With gradients also `grad.<name>` of the loss for every parameter, zero where it plays no part.
/// Outputs in the input, those of another implementation, are ignored. source: names and shapes of
/// the gradients, none for our own. Throws DataError, by the input's name, on missing and unknown
/// tensors, wrong shapes and types, and ids outside the vocabulary.
NamedTensors run_forward(SequenceModel& model, const TensorFile& input, bool gradients,
                         const std::optional<ForeignFormat>& source = {});

/// The same from file to file. Throws as named_device, and UsageError where the names of the source
/// are asked for, but the model was not imported.
void run_forward(const std::filesystem::path& model_folder, const std::filesystem::path& input,
                 const std::filesystem::path& output, const ForwardOptions& options);

}  // namespace tessera
