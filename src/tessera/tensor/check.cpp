#include "tessera/tensor/check.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

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

void check_sequence(const at::Tensor& x, const char* what) {
  check_shape(x, {-1, -1, -1, -1}, what);
  TESSERA_CHECK(x.is_floating_point(), what, " has dtype ", x.scalar_type(),
                ", expected a floating-point tensor [B, T, H, D]");
}

void check_vectors(const at::Tensor& x, const char* what) {
  check_shape(x, {-1, -1, -1}, what);
  TESSERA_CHECK(x.is_floating_point(), what, " has dtype ", x.scalar_type(),
                ", expected a floating-point tensor");
}

void check_like(const at::Tensor& tensor, std::initializer_list<int64_t> sizes,
                const at::Tensor& reference, const char* what) {
  check_shape(tensor, sizes, what);
  TESSERA_CHECK(
      tensor.scalar_type() == reference.scalar_type() && tensor.device() == reference.device(),
      what, " is ", tensor.scalar_type(), " on ", tensor.device(), ", expected ",
      reference.scalar_type(), " on ", reference.device(), " as the other arguments");
}

}  // namespace tessera
