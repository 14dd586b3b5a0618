#include "tessera/tensor/tensor_checksum.h"

#include <ATen/ATen.h>

#include <span>

#include "tessera/base/checksum.h"

namespace tessera {

std::string checksum_of(const std::map<std::string, at::Tensor>& tensors, std::string_view text) {
  Checksum sum;
  sum.add(text);
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor bytes = tensor.detach().to(at::kCPU).contiguous();
    sum.add(name);
    sum.add(std::span(static_cast<const std::byte*>(bytes.data_ptr()),
                      static_cast<size_t>(bytes.nbytes())));
  }
  return sum.hex();
}

}  // namespace tessera
