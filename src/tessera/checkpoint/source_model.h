#pragma once

#include <filesystem>
#include <string>

#include "tessera/base/config.h"
#include "tessera/model/sequence_model.h"

// The model that training goes on from: [model] from = "FOLDER".

namespace tessera {

/// Takes "from" out of a [model] table and fills in the fields of the model in that folder; returns
/// the folder, or "" where the table names none. The table may be that of an embedded model or of
/// the model in it. Throws UsageError where the table has other fields than that model, of which
/// dropout and precision alone may differ, and as model_table does.
std::string take_source_model(config::Json& model);

/// A [model] table from which take_source_model took this folder, with it again.
config::Json with_source_model(config::Json model, const std::string& folder);

/// Gives a model of the same sizes the weights of the one in `folder`. Throws as
/// load_sequence_model does, and DataError where they are kept in fewer bits, which cannot take
/// small steps.
void copy_weights(const std::filesystem::path& folder, SequenceModel& model);

}  // namespace tessera
