#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/checkpoint/foreign_weights.h"
#include "tessera/ops/number_formats.h"

namespace tessera {

class LanguageModel;
class SequenceModel;

/// Writes config.json (kind, format, source, the numbers of the weights, hyper-parameters) and
/// model.safetensors into the folder, creating it where it is missing; each file appears whole or
/// not at all. Matrices are written in the numbers in which the model has them. source: the format
/// that the weights were imported from, if any. Throws SystemError.
void save_model(const std::filesystem::path& folder, const SequenceModel& model,
                const std::optional<ForeignFormat>& source = {});

/// The model that save_model wrote, to the bit, but for matrices of fewer bits, which become
/// floats. The tensor file is compared with config.json before anything is allocated. Throws
/// SystemError, or DataError where the folder holds no model, or one whose key or tensors, all of
/// them named with the expected and the found shape, are wrong.
std::shared_ptr<SequenceModel> load_sequence_model(const std::filesystem::path& folder);
/// The same for a language model; DataError where it is of another kind.
std::shared_ptr<LanguageModel> load_model(const std::filesystem::path& folder);

/// The language model to be read only: its matrices in numbers of this type or, where none is
/// given, in those of the folder. Throws as load_model does, and UsageError where a model of this
/// kind is read in float32 alone.
std::shared_ptr<LanguageModel> load_to_read(const std::filesystem::path& folder,
                                            std::optional<ops::WeightType> weights = {});

/// The numbers that the folder keeps matrices in. Throws as load_model does.
ops::WeightType weights_of_model(const std::filesystem::path& folder);

/// The kind and the hyper-parameters of a model: what a [model] table holds.
config::Json model_table(const SequenceModel& model);
/// The same of the folder's model, from its config.json alone. Throws DataError where there is none
/// or it is no such file.
config::Json model_table(const std::filesystem::path& folder);

/// The format that the folder's model was imported from. Throws as load_model does.
std::optional<ForeignFormat> source_of_model(const std::filesystem::path& folder);

}  // namespace tessera
