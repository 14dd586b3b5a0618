#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/model/gpt.h"
#include "tessera/model/memory_mosaic.h"

namespace tessera {

struct ParameterShape {
  std::string name;
  std::vector<int64_t> shape;
};

/// The parameters that a network of this configuration has, by the names of named_parameters(),
/// without building it: files are held against them before any memory is taken. Throws UsageError
/// where the configuration makes no network.
std::vector<ParameterShape> parameter_shapes(const MemoryMosaicConfig& config);
std::vector<ParameterShape> parameter_shapes(const GptConfig& config);

/// The number of parameters in these shapes.
int64_t count_parameters(const std::vector<ParameterShape>& shapes);

}  // namespace tessera
