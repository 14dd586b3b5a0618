#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/base/safetensors.h"
#include "tessera/model/model_kind.h"

namespace tessera {

/// Throws DataError that names every tensor that is missing, has another shape or type or is
/// unexpected (the first ten of them), with what was expected and found. Reads nothing but the
/// file's header. path: how messages name the file. types: of the tensors that must be of one; the
/// others must be of floating point.
void check_tensors(const std::map<std::string, safetensors::TensorView>& found,
                   const std::vector<ParameterShape>& expected, const std::string& path,
                   const std::map<std::string, safetensors::DType>& types = {});

}  // namespace tessera
