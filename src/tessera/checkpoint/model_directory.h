#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/checkpoint/foreign_weights.h"
#include "tessera/model/language_model.h"
#include "tessera/model/parameter_shapes.h"

namespace tessera {

/// A network of this kind ("memory_mosaic", "gpt") with these hyper-parameters, the others at their
/// defaults; parameters drawn from `seed`, or awaiting loading. Throws UsageError on an unknown
/// kind or key, or values that make no network.
std::shared_ptr<LanguageModel> make_language_model(std::string_view kind,
                                                   const config::Json& hyper_parameters,
                                                   std::optional<uint64_t> seed = 0);

/// The parameters of such a network, without making it. Throws what make_language_model throws.
std::vector<ParameterShape> language_model_shapes(std::string_view kind,
                                                  const config::Json& hyper_parameters);

/// Throws what make_language_model throws, without making one.
void check_language_model(std::string_view kind, const config::Json& hyper_parameters);

/// Writes config.json (kind, format, source, hyper-parameters) and model.safetensors into the
/// folder, which is made where it is missing; each file appears whole or not at all. source: the
/// format that the weights were imported from, if any. Throws SystemError.
void save_model(const std::filesystem::path& folder, const LanguageModel& model,
                const std::optional<ForeignFormat>& source = {});

/// The model that save_model wrote, to the bit. The tensor file is held against config.json before
/// any memory is taken. Throws SystemError, or DataError where the folder holds no model, or one
/// whose key or tensors, all of them named with the expected and the found shape, are wrong.
std::shared_ptr<LanguageModel> load_model(const std::filesystem::path& folder);

/// The format that the folder's model was imported from. Throws as load_model does.
std::optional<ForeignFormat> source_of_model(const std::filesystem::path& folder);

}  // namespace tessera
