#include "tessera/tensor/check.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

bool sizes_fit(at::IntArrayRef found, at::IntArrayRef expected) {
  return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                    [](int64_t size, int64_t wanted) { return wanted < 0 || size == wanted; });
}

void check_shape(const at::Tensor& tensor, std::initializer_list<int64_t> sizes,
                 std::string_view what) {
  TESSERA_CHECK(tensor.defined(), what, " is an undefined tensor, expected shape ",
                describe(sizes));
  TESSERA_CHECK(sizes_fit(tensor.sizes(), sizes), what, " has shape ", tensor.sizes(),
                ", expected ", describe(sizes));
}

void check_sequence(const at::Tensor& x, std::string_view what) {
  check_shape(x, {-1, -1, -1, -1}, what);
  TESSERA_CHECK(x.is_floating_point(), what, " has dtype ", x.scalar_type(),
                ", expected a floating-point tensor [B, T, H, D]");
}

void check_vectors(const at::Tensor& x, std::string_view what) {
  check_shape(x, {-1, -1, -1}, what);
  TESSERA_CHECK(x.is_floating_point(), what, " has dtype ", x.scalar_type(),
                ", expected a floating-point tensor");
}

void check_like(const at::Tensor& tensor, std::initializer_list<int64_t> sizes,
                const at::Tensor& reference, std::string_view what) {
  check_shape(tensor, sizes, what);
  TESSERA_CHECK(
      tensor.scalar_type() == reference.scalar_type() && tensor.device() == reference.device(),
      what, " is ", tensor.scalar_type(), " on ", tensor.device(), ", expected ",
      reference.scalar_type(), " on ", reference.device(), " as the other arguments");
}

}  // namespace tessera
