// The state of a sequence model as a value of unknown content.

#include "tessera/model/sequence_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/model/memory_mosaic.h"

namespace tessera {
namespace {

/// Sequences of which the last inputs are known.
struct LastInputs {
  at::Tensor last;  // [B]

  int64_t rows() const { return last.defined() ? last.size(0) : 0; }
  LastInputs select(const std::vector<int64_t>& rows) const {
    return {last.index_select(0, at::tensor(rows, at::kLong))};
  }
  static LastInputs stack(const std::vector<const LastInputs*>& parts) {
    std::vector<at::Tensor> all;
    for (const auto* part : parts) all.push_back(part->last);
    return {at::cat(all)};
  }
  NamedTensors tensors(const std::string& prefix) const { return {{prefix + "last", last}}; }
};

/// The same, of another kind of model.
struct OtherInputs : LastInputs {
  OtherInputs(LastInputs inputs) : LastInputs(std::move(inputs)) {}
  OtherInputs select(const std::vector<int64_t>& rows) const { return LastInputs::select(rows); }
  static OtherInputs stack(const std::vector<const OtherInputs*>& parts) { return *parts.front(); }
};

SequenceState state_of(std::vector<double> last) {
  return SequenceState(LastInputs{at::tensor(last, at::kFloat)});
}

std::vector<float> last_of(const SequenceState& state) {
  const at::Tensor& last = state.as<LastInputs>().last;
  return {last.data_ptr<float>(), last.data_ptr<float>() + last.numel()};
}

TEST(SequenceState, ChoosesAndStacksRows) {
  const SequenceState state = state_of({1, 2, 3}), other = state_of({7});
  EXPECT_EQ(state.rows(), 3);
  EXPECT_EQ(last_of(state.select({2, 0, 2})), (std::vector<float>{3, 1, 3}));
  EXPECT_EQ(last_of(SequenceState::stack({&other, &state})), (std::vector<float>{7, 1, 2, 3}));
  EXPECT_EQ(state.tensors().front().first, "last");
  EXPECT_THROW(state.select({3}), UsageError);
  EXPECT_THROW(state.select({-1}), UsageError);
}

TEST(SequenceState, CopiesAreForks) {
  SequenceState state = state_of({1, 2});
  SequenceState fork = state;
  fork.as<LastInputs>().last = at::tensor({5.0F});
  EXPECT_EQ(last_of(state), (std::vector<float>{1, 2}));
  EXPECT_EQ(last_of(fork), (std::vector<float>{5}));
  state = fork;
  EXPECT_EQ(last_of(state), (std::vector<float>{5}));
}

/// A network that holds a model, or a block of it.
struct HolderImpl : torch::nn::Cloneable<HolderImpl> {
  explicit HolderImpl(std::shared_ptr<torch::nn::Module> held) : held_(std::move(held)) { reset(); }
  void reset() final { register_module("held", held_); }

 private:
  std::shared_ptr<torch::nn::Module> held_;
};

TEST(SequenceModel, IsNotClonedUnsaid) {
  MemoryMosaicConfig config;
  config.vocabulary = 5;
  config.window = 4;
  config.layers = 1;
  config.heads = 2;
  config.channels = 8;
  const auto model = std::make_shared<MemoryMosaic>(config);
  EXPECT_THROW(model->clone(), UsageError);
  EXPECT_THROW(HolderImpl(model).clone(), UsageError);
  EXPECT_THROW(HolderImpl(model->block(0).ptr()).clone(), UsageError);
  const Norm norm(8, /*with_bias=*/true, at::kCPU);
  norm->weight.data().fill_(3);
  const auto copy = std::dynamic_pointer_cast<NormImpl>(norm->clone());
  EXPECT_TRUE(copy->weight.equal(norm->weight));
}

TEST(SequenceState, AMoveKeepsTheStorage) {
  SequenceState state = state_of({1, 2});
  const void* storage = state.as<LastInputs>().last.data_ptr();
  SequenceState moved = std::move(state);
  EXPECT_EQ(moved.as<LastInputs>().last.data_ptr(), storage);
  EXPECT_THROW(state.as<LastInputs>(), UsageError);
  EXPECT_EQ(state.rows(), 0);
}

TEST(SequenceState, RefusesWhatHasReadNothingAndOtherKinds) {
  const SequenceState state = state_of({1}), nothing(LastInputs{});
  const SequenceState other(OtherInputs(LastInputs{at::tensor({1.0F})}));
  EXPECT_EQ(nothing.rows(), 0);
  EXPECT_THROW(nothing.select({}), UsageError);
  EXPECT_THROW(nothing.tensors(), UsageError);
  EXPECT_THROW(SequenceState::stack({}), UsageError);
  EXPECT_THROW(SequenceState::stack({&state, &nothing}), UsageError);
  EXPECT_THROW(SequenceState::stack({&state, &other}), UsageError);
  EXPECT_THROW(other.as<LastInputs>(), UsageError);
}

}  // namespace
}  // namespace tessera
