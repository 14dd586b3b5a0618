#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "tessera/checkpoint/foreign_weights.h"
#include "tessera/model/language_model.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

/// Whose names the gradients get: our own, or those of the format that the model was imported from.
enum class ParameterNames { kOwn, kSource };
constexpr std::array<std::string_view, 2> enum_names(ParameterNames) {
  return {"own", "source"};
}

struct ForwardOptions {
  bool gradients = false;
  ParameterNames names = ParameterNames::kOwn;
};

/// Runs the model on given tensors, without dropout. From `idx` [B, T] (whole numbers): `logits`
/// [B, T, V]; with `targets` [B, T] (-1 does not count) also `loss` [1], nats per token; with
/// options.gradients also `grad.<name>` of the loss for every parameter, zero where it plays no
/// part. Other tensors of the input are passed over. source: names and shapes of the gradients,
/// none for our own. Throws DataError, by the input's name, on missing tensors, wrong shapes and
/// ids outside the vocabulary.
NamedTensors run_forward(LanguageModel& model, const TensorFile& input, bool gradients,
                         const std::optional<ForeignFormat>& source = {});

/// The same from file to file. Throws UsageError where the names of the source are asked for, but
/// the model was not imported.
void run_forward(const std::filesystem::path& model_folder, const std::filesystem::path& input,
                 const std::filesystem::path& output, const ForwardOptions& options);

}  // namespace tessera
