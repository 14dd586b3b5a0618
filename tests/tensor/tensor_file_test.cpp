#include "tessera/tensor/tensor_file.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/safetensors.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;
using test::TemporaryFolder;
using testing::HasSubstr;

TEST(TensorFile, RoundTripsEveryType) {
  const TemporaryFolder folder;
  NamedTensors tensors;
  for (auto type : {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf,
                    at::kBFloat16, at::kFloat, at::kDouble})
    tensors.emplace_back(at::toString(type), at::arange(6).sub(2).to(type).view({2, 3}));
  save_tensors(folder / "x", tensors, {{"kind", "all"}});
  const TensorFile file = TensorFile::load(folder / "x");
  EXPECT_EQ(file.tensors.size(), tensors.size());
  EXPECT_EQ(file.metadata.at("kind"), "all");
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor& loaded = file.at(name, {2, 3});
    EXPECT_EQ(loaded.scalar_type(), tensor.scalar_type());
    EXPECT_TRUE(loaded.equal(tensor)) << name;
  }
}

TEST(TensorFile, AnOpenFileStaysTheSameWhereAnotherTakesItsPlace) {
  const TemporaryFolder folder;
  save_tensors(folder / "x", {{"old", at::ones({2})}});
  const auto open = safetensors::File::open(folder / "x");
  save_tensors(folder / "x", {{"new", at::zeros({3})}});
  const TensorFile file = TensorFile::load(open);
  EXPECT_EQ(file.path, folder / "x");
  EXPECT_TRUE(file.at("old", {2}).equal(at::ones({2})));
  EXPECT_TRUE(TensorFile::load(folder / "x").tensors.contains("new"));
}

TEST(TensorFile, TakesViewsScalarsAndEmptyTensors) {
  const TemporaryFolder folder;
  const at::Tensor matrix = at::arange(6, at::kFloat).view({2, 3});
  save_tensors(folder / "x", {{"turned", matrix.t()},
                              {"column", matrix.select(1, 1)},
                              {"scalar", at::scalar_tensor(2.5)},
                              {"empty", at::empty({0, 4})},
                              {"leaf", matrix.clone().requires_grad_(true)}});
  const TensorFile file = TensorFile::load(folder / "x");
  EXPECT_TRUE(file.at("turned", {3, 2}).equal(matrix.t()));
  EXPECT_TRUE(file.at("column", {2}).equal(matrix.select(1, 1)));
  EXPECT_EQ(file.at("scalar", {}).item<double>(), 2.5);
  EXPECT_EQ(file.at("empty", {0, 4}).numel(), 0);
  EXPECT_FALSE(file.at("leaf", {-1, -1}).requires_grad());
}

TEST(TensorFile, NamesWhatIsMissingAndWhatDoesNotFit) {
  const TemporaryFolder folder;
  save_tensors(folder / "x", {{"w", at::zeros({2, 3})}});
  const TensorFile file = TensorFile::load(folder / "x");
  EXPECT_THAT(message_of<DataError>([&] {
                file.at("w", {2, 4});
              }),
              HasSubstr("tensor 'w' has shape [2, 3], expected [2, 4]"));
  EXPECT_THROW(file.at("w", {2}), DataError);
  EXPECT_THAT(message_of<DataError>([&] { file.at("v", {1}); }),
              HasSubstr("has no tensor 'v', expected one of shape [1]"));
  EXPECT_THROW(save_tensors(folder / "y", {{"c", at::zeros({1}, at::kComplexFloat)}}), UsageError);
}

TEST(TensorFile, AForeignBoolBecomesZeroOrOne) {
  const TemporaryFolder folder;
  const std::byte bytes[] = {std::byte{0}, std::byte{2}, std::byte{255}};
  safetensors::write(folder / "x", {{"flags", {safetensors::DType::kBool, {3}, bytes}}});
  const at::Tensor flags = TensorFile::load(folder / "x").at("flags", {3});
  EXPECT_EQ(flags.scalar_type(), at::kBool);
  EXPECT_TRUE(flags.to(at::kByte).equal(at::tensor({0, 1, 1}).to(at::kByte)));
}

TEST(TensorFile, RefusesTypesThatHoldNoTensorHere) {
  const TemporaryFolder folder;
  const std::byte bytes[2] = {};
  safetensors::write(folder / "x", {{"u", {safetensors::DType::kU16, {1}, bytes}}});
  EXPECT_THAT(message_of<DataError>([&] { TensorFile::load(folder / "x"); }),
              HasSubstr("tensor 'u' has type U16"));
}

}  // namespace
}  // namespace tessera
