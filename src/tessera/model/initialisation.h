#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/base/config.h"

namespace tessera {

/// Draws initial parameters, in the order of the calls, from one seed: the same numbers on every
/// device, but for the meta device, where there are none.
class Initialiser {
 public:
  explicit Initialiser(uint64_t seed);

  void normal(const at::Tensor& parameter, double deviation);
  /// Weight normal, bias (where there is one) zero.
  void normal(const torch::nn::Linear& linear, double deviation);
  /// Weight and bias as torch::nn::Linear draws them: uniform in ±1/sqrt(in).
  void as_torch(const torch::nn::LinearImpl& linear);
  /// Normal, drawn again where it lies further than three deviations from 0.
  void cut_normal(const at::Tensor& parameter, double deviation);
  /// Weight so, bias (where there is one) zero.
  void cut_normal(const torch::nn::Linear& linear, double deviation);
  /// Uniform in [low, high).
  void uniform(const at::Tensor& parameter, double low = 0.0, double high = 1.0);

 private:
  at::Generator generator_;
};

/// A seed for part `index` of a network from the seed of the whole; none from none.
std::optional<uint64_t> derived_seed(std::optional<uint64_t> seed, int64_t index);

/// x with dropout by the seed of part `index` (ops/dropout.h); x itself without a seed.
at::Tensor with_dropout(const at::Tensor& x, double probability, std::optional<uint64_t> seed,
                        int64_t index);

/// What hyper-parameters may be: sizes, so that the bytes of [4 size, size] floats can be counted,
/// and counts of modules and of heads.
constexpr int64_t kLargestSize = int64_t{1} << 29;
constexpr int64_t kMostModules = int64_t{1} << 12;
constexpr config::Demand kSizes = config::between(1, kLargestSize);
constexpr config::Demand kCounts = config::between(1, kMostModules);
/// These throw UsageError that names the field, what it is and what it may be.
void check_sizes(std::initializer_list<std::pair<std::string_view, int64_t>> fields);
void check_heads(int64_t heads, int64_t channels, std::string_view width = "channels");

}  // namespace tessera
