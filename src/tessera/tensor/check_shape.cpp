#include "tessera/tensor/check_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "tessera/tensor/check.h"

namespace tessera {
namespace {

std::string describe(std::initializer_list<int64_t> sizes) {
  std::vector<std::string> parts;
  for (int64_t size : sizes) parts.push_back(size < 0 ? "*" : std::to_string(size));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace

void check_shape(const at::Tensor& tensor, std::initializer_list<int64_t> sizes,
                 std::string_view what) {
  TESSERA_CHECK(tensor.defined(), what, " is an undefined tensor, expected shape ",
                describe(sizes));
  bool fits = tensor.dim() == static_cast<int64_t>(sizes.size());
  int64_t axis = 0;
  for (int64_t size : sizes) {
    if (!fits) break;
    fits = size < 0 || tensor.size(axis) == size;
    ++axis;
  }
  TESSERA_CHECK(fits, what, " has shape ", tensor.sizes(), ", expected ", describe(sizes));
}

}  // namespace tessera
