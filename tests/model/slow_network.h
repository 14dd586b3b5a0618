#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/numerical_gradient.h"
#include "tests/support/shake.h"

namespace tessera::test {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;  // [T][C]

inline Vector values_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous().flatten();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

/// weight x + bias; bias: empty for none.
inline Vector affine(const Vector& x, const Vector& weight, const Vector& bias = {}) {
  Vector y = bias.empty() ? Vector(weight.size() / x.size()) : bias;
  for (size_t out = 0; out < y.size(); ++out)
    for (size_t in = 0; in < x.size(); ++in) y[out] += weight[out * x.size() + in] * x[in];
  return y;
}

/// A layer norm with gains and, unless they are empty, offsets.
inline Vector normed(const Vector& x, const Vector& gains, const Vector& offsets = {}) {
  double mean = 0, variance = 0;
  for (double value : x) mean += value / x.size();
  for (double value : x) variance += (value - mean) * (value - mean) / x.size();
  Vector y = offsets.empty() ? Vector(x.size()) : offsets;
  for (size_t c = 0; c < x.size(); ++c)
    y[c] += (x[c] - mean) / std::sqrt(variance + 1e-5) * gains[c];
  return y;
}

/// A network of blocks written out from its formulas, one number at a time, in double. It shares
/// with the model nothing but the parameters.
class SlowNetwork {
 public:
  template <typename Config>
  SlowNetwork(const torch::nn::Module& model, const Config& config)
      : layers_(config.layers), heads_(config.heads), width_(config.channels / config.heads) {
    for (const auto& item : model.named_parameters())
      parameters_[item.key()] = values_of(item.value());
  }
  virtual ~SlowNetwork() = default;

  /// [1, T, V]
  at::Tensor logits(const std::vector<int64_t>& tokens) const {
    const int64_t C = heads_ * width_;
    Matrix x;
    for (int64_t token : tokens) {
      const auto row = at("embedding").begin() + token * C;
      x.emplace_back(row, row + C);
    }
    for (int64_t layer = 0; layer < layers_; ++layer)
      pass_block(x, "blocks." + std::to_string(layer) + ".");
    std::vector<at::Tensor> rows;
    for (const auto& row : norm(x, "norm"))
      rows.push_back(at::tensor(affine(row, at("embedding")), at::kDouble));
    return at::stack(rows).unsqueeze(0) * logit_scale();
  }

 protected:
  /// Adds to x what the units of a block do. block: the beginning of its parameters' names.
  virtual void pass_block(Matrix& x, const std::string& block) const = 0;
  virtual double logit_scale() const { return 1; }

  const Vector& at(const std::string& name) const { return parameters_.at(name); }

  static void add(Matrix& x, const Matrix& y) {
    for (size_t t = 0; t < x.size(); ++t)
      for (size_t c = 0; c < x[t].size(); ++c) x[t][c] += y[t][c];
  }

  Matrix norm(const Matrix& x, const std::string& name) const {
    Matrix result;
    for (const Vector& row : x) result.push_back(normed(row, at(name + ".weight"), bias_of(name)));
    return result;
  }

  Matrix linear(const Matrix& x, const std::string& name) const {
    Matrix result;
    for (const Vector& row : x) result.push_back(affine(row, at(name + ".weight"), bias_of(name)));
    return result;
  }

  /// Brings each head's part of each row to length scale(h).
  void rescale(Matrix& x, const std::function<double(int64_t)>& scale) const {
    for (auto& row : x)
      for (int64_t h = 0; h < heads_; ++h) {
        double square = 0;
        for (int64_t c = h * width_; c < (h + 1) * width_; ++c) square += row[c] * row[c];
        for (int64_t c = h * width_; c < (h + 1) * width_; ++c)
          row[c] *= scale(h) / std::sqrt(square);
      }
  }

  /// The products of head h of two rows.
  double product(const Vector& a, const Vector& b, int64_t h) const {
    double sum = 0;
    for (int64_t c = h * width_; c < (h + 1) * width_; ++c) sum += a[c] * b[c];
    return sum;
  }

  /// mix_h x_t + (1 - mix_h) x_{t+1} of all rows but the last.
  Matrix peek_average(const Matrix& x, const std::string& mix) const {
    Matrix values(x.empty() ? 0 : x.size() - 1, Vector(heads_ * width_));
    for (size_t t = 0; t < values.size(); ++t)
      for (int64_t c = 0; c < heads_ * width_; ++c) {
        const double here = at(mix)[c / width_];
        values[t][c] = here * x[t][c] + (1 - here) * x[t + 1][c];
      }
    return values;
  }

  int64_t layers_, heads_, width_;

 private:
  /// Empty where there is none.
  Vector bias_of(const std::string& name) const {
    const auto found = parameters_.find(name + ".bias");
    return found == parameters_.end() ? Vector() : found->second;
  }

  std::map<std::string, Vector> parameters_;
};

/// Holds the logits of a model, shaken and in doubles, against those of the formulas.
template <typename Slow, typename Model>
void expect_formulas(Model& model, const std::vector<std::vector<int64_t>>& texts) {
  shake(model);
  model.to(at::kDouble);
  for (const auto& tokens : texts) {
    const at::Tensor logits =
        model.logits(model.hidden(at::tensor(tokens, at::kLong).unsqueeze(0)));
    EXPECT_LT(relative_error(logits, Slow(model).logits(tokens)), 1e-9)
        << tokens.size() << " tokens";
  }
}

}  // namespace tessera::test
