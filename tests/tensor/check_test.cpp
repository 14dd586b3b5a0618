#include "tessera/tensor/check.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

TEST(CheckShape, AcceptsWildcardsAndNamesWhatIsWrong) {
  const at::Tensor x = at::zeros({2, 3});
  EXPECT_NO_THROW(check_shape(x, {2, 3}, "f: x"));
  EXPECT_NO_THROW(check_shape(x, {-1, 3}, "f: x"));
  EXPECT_THROW(check_shape(x, {2, 3, 1}, "f: x"), UsageError);
  EXPECT_THROW(check_shape(at::Tensor(), {2}, "f: x"), UsageError);
  EXPECT_EQ(test::message_of<UsageError>([&] {
              check_shape(x, {-1, 4}, "f: x");
            }),
            "f: x has shape [2, 3], expected [*, 4]");
}

}  // namespace
}  // namespace tessera
