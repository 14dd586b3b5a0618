#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>

namespace tessera {

/// The checksum (base/checksum.h) of `text` and of names and bytes of the tensors, in the order of
/// the names.
std::string checksum_of(const std::map<std::string, at::Tensor>& tensors,
                        std::string_view text = {});

}  // namespace tessera
