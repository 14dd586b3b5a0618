#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace tessera {

/// Draws initial parameters, in the order of the calls, from one seed.
class Initialiser {
 public:
  explicit Initialiser(uint64_t seed);

  void normal(const at::Tensor& parameter, double deviation);
  /// Weight normal, bias (where there is one) zero.
  void normal(const torch::nn::Linear& linear, double deviation);
  /// Uniform in [0, 1).
  void uniform(const at::Tensor& parameter);

 private:
  at::Generator generator_;
};

/// A seed for part `index` of a network from the seed of the whole; none from none.
std::optional<uint64_t> derived_seed(std::optional<uint64_t> seed, int64_t index);

/// These throw UsageError that names the field, what it is and what it may be.
void check_at_least_one(std::initializer_list<std::pair<std::string_view, int64_t>> fields);
void check_heads(int64_t heads, int64_t channels);
void check_dropout_probability(double dropout);

}  // namespace tessera
