#include "tessera/tensor/huge_pages.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

// Whether the system has such pages here or not: what lies there stays, neighbours too.
TEST(HugePages, KeepWhatLiesInThem) {
  std::vector<at::Tensor> tensors;
  for (const int64_t size : {1, 1000, 700'000, 3'000'000})
    tensors.push_back(at::arange(size, at::kInt));
  for (const at::Tensor& tensor : tensors) move_to_huge_pages(tensor);
  for (const at::Tensor& tensor : tensors)
    EXPECT_TRUE(tensor.equal(at::arange(tensor.size(0), at::kInt)));
  EXPECT_NO_THROW(move_to_huge_pages(at::empty({0, 4})));
  EXPECT_NO_THROW(move_to_huge_pages(at::Tensor()));
}

}  // namespace
}  // namespace tessera
