#include "lab/learner/moons/complex_mosaic.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tessera/base/error.h"
#include "tessera/memory/rows_of_states.h"
#include "tessera/ops/causal_read.h"
#include "tessera/ops/linear.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// The same map over the reals: a block ((re, -im), (im, re)) for each weight. [out, in, 2] ->
/// [2 out, 2 in].
at::Tensor real_matrix(const at::Tensor& weight) {
  const at::Tensor real = weight.select(-1, 0), imaginary = weight.select(-1, 1);
  const at::Tensor upper = at::stack({real, -imaginary}, -1);  // [out, in, 2]
  const at::Tensor lower = at::stack({imaginary, real}, -1);
  return at::stack({upper, lower}, 1).reshape({2 * weight.size(0), 2 * weight.size(1)});
}

}  // namespace

at::Tensor complex_linear(const at::Tensor& x, const at::Tensor& weight) {
  check_shape(weight, {-1, -1, 2}, "complex_linear: weight");
  TESSERA_CHECK(x.dim() > 0 && x.size(-1) == 2 * weight.size(1), "complex_linear: x has shape ",
                x.sizes(), ", expected ", 2 * weight.size(1), " channels: a real and an ",
                "imaginary part for each of ", weight.size(1), " inputs");
  TESSERA_CHECK(x.scalar_type() == weight.scalar_type(), "complex_linear: x has type ",
                x.scalar_type(), ", weight ", weight.scalar_type(), "; they must be equal");
  return ops::linear(x, real_matrix(weight));
}

}  // namespace tessera::ops

namespace tessera {

void ComplexMosaicConfig::check() const {
  config::check_demands(*this, "model");
  for (const auto& [name, width] :
       {std::pair("inputs", inputs), {"outputs", outputs}, {"channels", channels}})
    if (width % 2 != 0)
      throw UsageError("model.{} is {}, expected an even number: two channels for each complex one",
                       name, width);
  if (channels % (2 * heads) != 0)
    throw UsageError("model.channels is {}, expected a multiple of {}, twice model.heads", channels,
                     2 * heads);
  if (start == ComplexStart::kUnitary && (inputs != channels || outputs != channels))
    throw UsageError(
        "model.start is 'unitary' with model.inputs = {}, model.channels = {} and model.outputs = "
        "{}; they must be equal",
        inputs, channels, outputs);
}

ComplexMosaicState ComplexMosaicState::stack(const std::vector<const ComplexMosaicState*>& parts) {
  return {stacked(parts, &ComplexMosaicState::pairs),
          stacked(parts, &ComplexMosaicState::pending_key)};
}

ComplexMosaicState ComplexMosaicState::select(const std::vector<int64_t>& rows) const {
  return {pairs.select(rows), chosen_rows(pending_key, rows)};
}

NamedTensors ComplexMosaicState::tensors(const std::string& prefix) const {
  NamedTensors result = pairs.tensors(prefix + "pairs.");
  result.emplace_back(prefix + "pending_key", pending_key);
  return result;
}

ComplexMosaic::ComplexMosaic(const ComplexMosaicConfig& config, std::optional<uint64_t> seed,
                             at::Device device)
    : config_(config) {
  config.check();
  const auto matrix = [&](const char* name, int64_t out, int64_t in) {
    return register_parameter(name, at::zeros({out / 2, in / 2, 2}, device));
  };
  key_ = matrix("key", config.channels, config.inputs);
  value_ = matrix("value", config.channels, config.inputs);
  output_ = matrix("output", config.outputs, config.channels);
  if (seed) initialise(*seed);
}

at::Tensor ComplexMosaic::placed(const at::Tensor& x) const {
  return placed_vectors(x, config_.inputs, key_, kind());
}

at::Tensor ComplexMosaic::split_heads(const at::Tensor& x) const {
  return x.view({x.size(0), x.size(1), config_.heads, config_.channels / config_.heads});
}

at::Tensor ComplexMosaic::forward(const at::Tensor& x, std::optional<uint64_t>,
                                  int64_t first_output) {
  const at::Tensor inputs = placed(x);  // [B, T, in]
  const int64_t T = inputs.size(1);
  check_first_output(first_output, T);
  if (first_output == T) return at::empty({inputs.size(0), 0, config_.outputs}, inputs.options());
  const at::Tensor keys = split_heads(ops::complex_linear(inputs, key_));  // [B, T, H, D]
  const at::Tensor values = split_heads(ops::complex_linear(inputs.slice(1, 1), value_));  // T - 1
  ops::CausalReadOptions options;
  options.scale = config_.beta;
  options.lag = 1 - first_output;
  const at::Tensor read = ops::causal_read(keys.slice(1, first_output), keys.slice(1, 0, T - 1),
                                           values, options);  // [B, T - first_output, H, D]
  return ops::complex_linear(read.flatten(2), output_);
}

SequenceState ComplexMosaic::empty_state() const {
  return SequenceState(ComplexMosaicState());
}

SequenceOutput ComplexMosaic::read(const at::Tensor& x, SequenceState&& state,
                                   int64_t first_output) {
  at::NoGradGuard no_grad;
  const at::Tensor inputs = placed(x);  // [B, T, in]
  const int64_t B = inputs.size(0), T = inputs.size(1);
  check_first_output(first_output, T);
  const at::Tensor pending = state.as<ComplexMosaicState>().pending_key;
  const int64_t width = config_.channels / config_.heads;
  if (pending.defined())
    check_shape(pending, {B, config_.heads, width}, "complex_mosaic: the state's pending_key");
  if (T == 0) return {at::empty({B, 0, config_.outputs}, inputs.options()), std::move(state)};

  ComplexMosaicState next = std::move(state.as<ComplexMosaicState>());
  const at::Tensor keys = split_heads(ops::complex_linear(inputs, key_));  // [B, T, H, D]
  const at::Tensor values = split_heads(ops::complex_linear(inputs, value_));
  const at::Tensor all_keys = after(pending, keys);  // [B, T or T + 1, H, D]
  const int64_t complete = all_keys.size(1) - 1;     // the last key waits for the next input
  const at::Tensor read = next.pairs.store_and_retrieve(
      all_keys.narrow(1, 0, complete), values.narrow(1, T - complete, complete),
      keys * config_.beta, ops::Precision::kFloat32);
  next.pending_key = keys.select(1, T - 1).clone();  // a view would keep the whole sequence
  return {ops::complex_linear(read.slice(1, first_output).flatten(2), output_),
          SequenceState(std::move(next))};
}

SequenceState ComplexMosaic::state_from(const TensorFile& file, const SequenceState& empty) const {
  const int64_t width = config_.channels / config_.heads;
  ComplexMosaicState state;
  state.pending_key = file.at("pending_key", {-1, config_.heads, width}, at::kFloat);
  state.pairs = StoredPairs::from_tensors(
      file, "pairs.", empty.as<ComplexMosaicState>().pairs.options(), config_.heads, width);
  if (state.pairs.rows() != state.rows())
    throw DataError(file.path, "'pairs.' has {} rows, 'pending_key' {}", state.pairs.rows(),
                    state.rows());
  return SequenceState(std::move(state));
}

void ComplexMosaic::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  Initialiser draw(seed);
  config_.start == ComplexStart::kUnitary ? draw_unitary(draw) : draw_uniform(draw);
}

void ComplexMosaic::draw_uniform(Initialiser& draw) {
  for (const at::Tensor& matrix : {key_, value_, output_}) {
    // The projection averages the two real numbers that stand for each part.
    const double bound = 1 / std::sqrt(2.0 * static_cast<double>(matrix.size(1)));
    const at::Tensor first = at::empty_like(matrix), second = at::empty_like(matrix);
    draw.uniform(first, -bound, bound);
    draw.uniform(second, -bound, bound);
    at::Tensor(matrix).copy_((first + second) / 2);
  }
}

void ComplexMosaic::draw_unitary(Initialiser& draw) {
  const at::Tensor drawn = at::empty(key_.sizes(), at::kDouble);
  draw.normal(drawn, 1);
  const at::Tensor unitary = std::get<0>(at::linalg_qr(at::view_as_complex(drawn)));
  // Numbers of a unitary matrix have the variance 1 / n, those of the uniform start 1 / (6 n).
  const auto scaled = [](const at::Tensor& matrix) {
    return at::view_as_real(matrix.resolve_conj()) / std::sqrt(6.0);
  };
  key_.copy_(scaled(unitary));
  value_.copy_(scaled(unitary));
  output_.copy_(scaled(unitary.conj().t()));
}

}  // namespace tessera

namespace tessera::task {

at::Tensor moduli(const at::Tensor& weight) {
  check_shape(weight, {-1, -1, 2}, "moduli: weight");
  return weight.detach().square().sum(-1).sqrt();
}

Disentanglement disentanglement(const ComplexMosaic& model) {
  const auto parameters = model.named_parameters();
  at::Tensor of_rows[kMoons];  // W_phi, W_psi, W_z: [3, 3], a row for each memory
  Disentanglement result{.least_dominance = 1};
  for (size_t i = 0; const char* name : {"key", "value", "output"}) {
    const at::Tensor values = moduli(parameters[name]).to(at::kCPU, at::kDouble);
    check_shape(values, {kMoons, kMoons}, std::string("disentanglement: the moduli of ") + name);
    const at::Tensor dominance = values.amax(-1) / values.sum(-1);
    result.least_dominance = std::min(result.least_dominance, dominance.min().item<double>());
    of_rows[i++] = name == std::string_view("output") ? values.t() : values;
  }
  const at::Tensor keyed = of_rows[0].argmax(-1);
  std::copy_n(keyed.data_ptr<int64_t>(), kMoons, result.moons.begin());
  const std::set<int64_t> different(result.moons.begin(), result.moons.end());
  result.one_moon_each = different.size() == kMoons && of_rows[1].argmax(-1).equal(keyed) &&
                         of_rows[2].argmax(-1).equal(keyed);
  return result;
}

}  // namespace tessera::task
