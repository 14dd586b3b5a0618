#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/base/safetensors.h"
#include "tessera/model/parameter_shapes.h"

namespace tessera {

/// Throws DataError that names every tensor that is missing, has another shape, is no
/// floating-point tensor or is unexpected (the first ten of them), with what was expected and
/// found. Reads nothing but the file's header. path: how messages name the file.
void check_tensors(const std::map<std::string, safetensors::TensorView>& found,
                   const std::vector<ParameterShape>& expected, const std::string& path);

}  // namespace tessera
