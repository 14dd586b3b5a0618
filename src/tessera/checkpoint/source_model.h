#pragma once

#include <string>

#include "tessera/base/config.h"
#include "tessera/model/sequence_model.h"

// The model that training goes on from: [model] from = "FOLDER".

namespace tessera {

/// Where a training takes its first weights from.
struct SourceModel {
  std::string folder;      ///< a model directory; empty: training begins with new weights
  bool has_begun = false;  ///< the run has a checkpoint: the folder is not read, and may be gone
};

/// Takes "from" out of a [model] table and fills in the fields of the model in that folder. The
/// table may be that of an embedded model or of the model in it. begun: the [model] table with all
/// fields and "from" that a run began with which goes on from a checkpoint; null: the run begins.
/// Throws UsageError where the table has other fields than that model, of which dropout and
/// precision alone may differ, and as model_table does.
SourceModel take_source_model(config::Json& model, const config::Json& begun);

/// A [model] table from which take_source_model took this, with it again.
config::Json with_source_model(config::Json model, const SourceModel& source);

/// Gives a model of the same sizes the weights of its source, unless it has none or its run has
/// begun. Throws as load_sequence_model does, and DataError where they are kept in fewer bits,
/// which cannot take small steps.
void copy_weights(const SourceModel& source, SequenceModel& model);

}  // namespace tessera
