#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tessera/model/stm.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

/// The name that the authors' implementation of the two-memory model (SAM, `stm_basic.STM`) gives
/// the parameter with this name of ours; none where it has no such parameter. All shapes are equal.
std::optional<std::string> sam_name(const std::string& own_name);

/// The configuration of a state dict of theirs: the sizes are those of its tensors. A blend factor
/// that is not among them was a constant, which a state dict does not tell: `constants` has its
/// value. Throws DataError where a tensor that tells a size is missing or has a wrong number of
/// dimensions.
StmConfig sam_config(const TensorFile& file, const std::array<double, 3>& constants = {0, 0, 0});

/// The model of a state dict of theirs. Throws DataError that names every missing, wrong and
/// unexpected tensor, before anything is allocated for the model.
std::shared_ptr<Stm> import_sam(const TensorFile& file,
                                const std::array<double, 3>& constants = {0, 0, 0});

}  // namespace tessera
