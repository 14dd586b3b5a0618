#include "tessera/tensor/check_shape.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(CheckShape, AcceptsWildcardsAndNamesWhatIsWrong) {
  const at::Tensor x = at::zeros({2, 3});
  EXPECT_NO_THROW(check_shape(x, {2, 3}, "f: x"));
  EXPECT_NO_THROW(check_shape(x, {-1, 3}, "f: x"));
  EXPECT_THROW(check_shape(x, {2, 3, 1}, "f: x"), c10::ValueError);
  EXPECT_THROW(check_shape(at::Tensor(), {2}, "f: x"), c10::ValueError);
  try {
    check_shape(x, {-1, 4}, "f: x");
    FAIL();
  } catch (const c10::ValueError& error) {
    EXPECT_EQ(std::string(error.what_without_backtrace()),
              "f: x has shape [2, 3], expected [*, 4]");
  }
}

}  // namespace
}  // namespace tessera
