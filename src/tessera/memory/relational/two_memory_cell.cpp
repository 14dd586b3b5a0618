#include "tessera/memory/relational/two_memory_cell.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "tessera/memory/make_linear.h"
#include "tessera/memory/rows_of_states.h"
#include "tessera/ops/batched_product.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

constexpr double kAttentionNormEpsilon = 1e-5;

/// Candidates after which R is formed. Each costs as many reads as steps are left until then, of
/// N N D products each; forming R costs N N D D for each candidate.
constexpr int64_t kLongestList = 64;

/// f1, f2 or f3: linear, as one map or as three.
torch::nn::Sequential input_map(int64_t inputs, int64_t hidden, int64_t outputs,
                                at::Device device) {
  const auto linear = [&](int64_t in, int64_t out) {
    return make_linear(in, out, /*with_bias=*/true, device);
  };
  if (hidden == 0) return torch::nn::Sequential(linear(inputs, outputs));
  return torch::nn::Sequential(linear(inputs, hidden), linear(hidden, hidden),
                               linear(hidden, outputs));
}

void check_slots(const TwoMemoryOptions& options, const char* module) {
  TESSERA_CHECK(options.slots > 0 && options.width > 0, module, ": ", options.slots,
                " slots and a width of ", options.width, "; expected 1 or more of each");
}

}  // namespace

ItemMemoryImpl::ItemMemoryImpl(const TwoMemoryOptions& options, at::Device device)
    : options_(options), device_(device) {
  TESSERA_CHECK(options.width > 0, "ItemMemory: a width of ", options.width,
                "; expected 1 or more");
  reset();
}

void ItemMemoryImpl::reset() {
  const int64_t D = options_.width;
  initial = register_parameter("initial", at::zeros({D, D}, device_));
  if (!options_.gated) return;
  const bool of_code = options_.equations.gates == ops::GateForm::kSigmoid;
  const auto gate = [&](int64_t inputs) {
    return make_linear(inputs, 2 * D, /*with_bias=*/of_code, device_);
  };
  input_gate = register_module("input_gate", gate(of_code ? D : options_.inputs));
  memory_gate = register_module("memory_gate", gate(D));
  input_bias = register_parameter("input_bias", at::zeros({}, device_));
  forget_bias = register_parameter("forget_bias", at::ones({}, device_));
}

at::Tensor ItemMemoryImpl::gate_inputs(const at::Tensor& x, const at::Tensor& content) {
  if (!options_.gated) return {};
  const bool of_code = options_.equations.gates == ops::GateForm::kSigmoid;
  const at::Tensor ones = at::ones({options_.width}, x.options());
  const at::Tensor scalars = at::cat({input_bias * ones, forget_bias * ones});
  const at::Tensor bias = of_code ? scalars + input_gate->bias + memory_gate->bias : scalars;
  return at::matmul(of_code ? content : x, input_gate->weight.t()) + bias;
}

at::Tensor ItemMemoryImpl::write(const at::Tensor& memory, const at::Tensor& left,
                                 const at::Tensor& right, const at::Tensor& gate_input) const {
  if (!options_.gated) return at::addcmul(memory, left.unsqueeze(2), right.unsqueeze(1));
  const auto gated = [&](const at::Tensor& M, const at::Tensor& l, const at::Tensor& r) {
    return ops::gated_write(M, l, r, memory_gate->weight, gate_input, options_.equations.gates,
                            options_.precision);
  };
  if (options_.equations.gates == ops::GateForm::kSigmoid) return gated(memory, left, right);
  // The gates of the paper are U tanh(M), with W x in every column: those of the transposed memory.
  return gated(memory.transpose(1, 2), right, left).transpose(1, 2).contiguous();
}

SelfAttentionImpl::SelfAttentionImpl(const TwoMemoryOptions& options, at::Device device)
    : options_(options), device_(device) {
  check_slots(options, "SelfAttention");
  reset();
}

void SelfAttentionImpl::reset() {
  const int64_t N = options_.slots, D = options_.width;
  const bool of_columns = options_.equations.projection != MemoryProjection::kRows;
  projection =
      register_module("projection", make_linear(D, 3 * N, /*with_bias=*/of_columns, device_));
  std::vector<int64_t> sizes = {D, 3 * N};
  if (options_.equations.projection == MemoryProjection::kRows) sizes = {3, D};
  if (options_.equations.projection == MemoryProjection::kColumnsNormedAcross) sizes = {3 * N};
  norm_weight = register_parameter("norm_weight", at::ones(sizes, device_));
  norm_bias = register_parameter("norm_bias", at::zeros(sizes, device_));
}

/// [B, 3N, D]: columns of (M + left ⊗ right) Wᵀ + bias, normalised all together or row by row.
at::Tensor SelfAttentionImpl::columns(const at::Tensor& item, const at::Tensor& left,
                                      const at::Tensor& right) {
  const at::Tensor weight = projection->weight.t();  // [D, 3N]
  at::Tensor all = at::addmm(projection->bias, item.flatten(0, 1), weight)
                       .view({item.size(0), options_.width, 3 * options_.slots});  // [B, D, 3N]
  if (left.defined()) all = at::addcmul(all, left.unsqueeze(2), at::mm(right, weight).unsqueeze(1));
  return at::layer_norm(all, norm_weight.sizes(), norm_weight, norm_bias, kAttentionNormEpsilon)
      .transpose(1, 2);
}

/// [B, 3N, D]: rows of W (M + left ⊗ right), normalised one by one.
at::Tensor SelfAttentionImpl::rows(const at::Tensor& item, const at::Tensor& left,
                                   const at::Tensor& right) {
  const int64_t N = options_.slots, D = options_.width;
  at::Tensor all = at::matmul(projection->weight, item);  // [B, 3N, D]
  if (left.defined())
    all = at::addcmul(all, at::mm(left, projection->weight.t()).unsqueeze(2), right.unsqueeze(1));
  const at::Tensor normal =
      at::layer_norm(all, {D}, {}, {}, kAttentionNormEpsilon).unflatten(1, {3, N});
  return (normal * norm_weight.unsqueeze(1) + norm_bias.unsqueeze(1)).flatten(1, 2);
}

ops::Associations SelfAttentionImpl::forward(const at::Tensor& item, const at::Tensor& left,
                                             const at::Tensor& right) {
  const bool of_columns = options_.equations.projection != MemoryProjection::kRows;
  const at::Tensor all = of_columns ? columns(item, left, right) : rows(item, left, right);
  const auto parts = at::split(all, options_.slots, 1);  // [B, N, D] each
  return ops::self_attentive_memory(parts[0], parts[1], parts[2]);
}

RelationalMemoryImpl::RelationalMemoryImpl(const TwoMemoryOptions& options, at::Device device)
    : options_(options), device_(device) {
  check_slots(options, "RelationalMemory");
  reset();
}

void RelationalMemoryImpl::reset() {
  const int64_t N = options_.slots, D = options_.width;
  alpha1 = blend_factor("alpha1", options_.alpha1);
  alpha2 = blend_factor("alpha2", options_.alpha2);
  alpha3 = blend_factor("alpha3", options_.alpha3);
  if (!options_.alpha3.absent())
    transfer = register_module("transfer", make_linear(N * D, D, /*with_bias=*/true, device_));
  initial = register_parameter("initial", at::zeros({N, D, D}, device_));
}

at::Tensor RelationalMemoryImpl::blend_factor(const std::string& name, const BlendFactor& factor) {
  const at::Tensor value =
      at::full({1}, factor.value, at::TensorOptions(device_).dtype(at::kFloat));
  return factor.learned ? register_parameter(name, value) : register_buffer(name, value);
}

at::Tensor RelationalMemoryImpl::decay() const {
  switch (options_.equations.relational_write) {
    case RelationalWrite::kDecay:
      return alpha1;
    case RelationalWrite::kAdd:
      return at::ones_like(alpha1);
    default:
      return at::zeros_like(alpha1);
  }
}

at::Tensor RelationalMemoryImpl::gain() const {
  return options_.equations.relational_write == RelationalWrite::kAdd ? alpha1
                                                                      : at::ones_like(alpha1);
}

at::Tensor RelationalMemoryImpl::blend(const at::Tensor& before,
                                       const at::Tensor& candidate) const {
  if (forgets()) return candidate;
  return options_.equations.relational_write == RelationalWrite::kDecay
             ? at::addcmul(candidate, before, alpha1)
             : at::addcmul(before, candidate, alpha1);
}

TwoMemoryState TwoMemoryState::select(const std::vector<int64_t>& rows) const {
  return {chosen_rows(item, rows), chosen_rows(relational, rows)};
}

TwoMemoryState TwoMemoryState::detach() const {
  return rows() == 0 ? *this : TwoMemoryState{item.detach(), relational.detach()};
}

TwoMemoryState TwoMemoryState::stack(const std::vector<const TwoMemoryState*>& states) {
  return {stacked(states, &TwoMemoryState::item), stacked(states, &TwoMemoryState::relational)};
}

NamedTensors TwoMemoryState::tensors(const std::string& prefix) const {
  return {{prefix + "item_memory", item}, {prefix + "relational_memory", relational}};
}

TwoMemoryCellImpl::TwoMemoryCellImpl(const TwoMemoryOptions& options, at::Device device)
    : options_(options), device_(device) {
  TESSERA_CHECK(options.inputs > 0 && options.slots > 0 && options.width > 0 &&
                    options.projection_hidden >= 0,
                "TwoMemoryCell: ", options.inputs, " inputs, ", options.slots,
                " slots, a width of ", options.width, " and a hidden width of ",
                options.projection_hidden, "; expected 1 or more of each, or no hidden width");
  reset();
}

void TwoMemoryCellImpl::reset() {
  const auto map = [&](int64_t outputs) {
    return input_map(options_.inputs, options_.projection_hidden, outputs, device_);
  };
  content = register_module("content", map(options_.width));
  pattern = register_module("pattern", map(options_.width));
  attention = register_module("attention", map(options_.slots));
  item = register_module("item", ItemMemory(options_, device_));
  self_attention = register_module("self_attention", SelfAttention(options_, device_));
  relational = register_module("relational", RelationalMemory(options_, device_));
}

TwoMemoryState TwoMemoryCellImpl::initial_state(int64_t B) const {
  const int64_t N = options_.slots, D = options_.width;
  return {item->initial.expand({B, D, D}), relational->initial.expand({B, N, D, D})};
}

TwoMemoryState TwoMemoryCellImpl::state_from(const TensorFile& file) const {
  const int64_t N = options_.slots, D = options_.width;
  const auto type = item->initial.scalar_type();
  const at::Tensor& memory = file.at("item_memory", {-1, D, D}, type);
  return {memory, file.at("relational_memory", {memory.size(0), N, D, D}, type)};
}

void TwoMemoryCellImpl::check_state(const TwoMemoryState& state, int64_t B) const {
  const int64_t N = options_.slots, D = options_.width;
  const at::Tensor& own = item->initial;
  check_like(state.item, {B, D, D}, own, "TwoMemoryCell: the state's item memory");
  check_like(state.relational, {B, N, D, D}, own, "TwoMemoryCell: the state's relational memory");
}

/// The relational memory along a sequence: an R that was formed some steps ago, and the factors of
/// what was written since. The reads of the coming steps, whose slots and patterns are known
/// beforehand, are linear in R: they follow eq. 12 by themselves, and each candidate is read once
/// for all of them. An R is formed every few dozen steps only.
class RelationalTrace {
 public:
  /// memory [B or 1, N, D, D]: R before the first step. slots p [T, B, N] and patterns e [T, B, D]:
  /// the reads of all steps. parameters must outlive the trace.
  RelationalTrace(const RelationalMemoryImpl& parameters, ops::ReadSide side, at::Tensor memory,
                  const at::Tensor& slots, const at::Tensor& patterns);

  /// The read of the coming step (Le et al. 2020, eq. 11), [B, D].
  at::Tensor read();
  /// Writes S of the coming step (eq. 12), which ends it.
  void write(const ops::Associations& candidate);
  /// The memory after the steps so far, formed: [B or 1, N, D, D].
  const at::Tensor& memory();

 private:
  const RelationalMemoryImpl& parameters_;
  ops::ReadSide side_;
  at::Tensor formed_;                       ///< the R formed last
  std::vector<ops::Associations> written_;  ///< since then
  at::Tensor slots_, patterns_;             ///< [B, T, N], [B, T, D]
  at::Tensor reads_;  ///< of the present R, by the coming step and the next ones: [B, steps, D]
  int64_t time_ = 0;
};

RelationalTrace::RelationalTrace(const RelationalMemoryImpl& parameters, ops::ReadSide side,
                                 at::Tensor memory, const at::Tensor& slots,
                                 const at::Tensor& patterns)
    : parameters_(parameters),
      side_(side),
      formed_(std::move(memory)),
      slots_(slots.transpose(0, 1)),
      patterns_(patterns.transpose(0, 1)) {}

at::Tensor RelationalTrace::read() {
  if (!reads_.defined() || reads_.size(1) == 0) {
    const int64_t steps = std::min(kLongestList, slots_.size(1) - time_);
    reads_ = ops::contract(memory(), slots_.narrow(1, time_, steps),
                           patterns_.narrow(1, time_, steps), side_);
  }
  return reads_.select(1, 0);
}

void RelationalTrace::write(const ops::Associations& candidate) {
  if (parameters_.forgets()) written_.clear();
  if (std::ssize(written_) >= kLongestList) memory();
  written_.push_back(candidate);
  ++time_;
  if (!reads_.defined()) return;
  const int64_t steps = reads_.size(1) - 1;
  reads_ = reads_.narrow(1, 1, steps);
  if (steps > 0)
    reads_ = parameters_.blend(reads_, ops::contract(candidate, slots_.narrow(1, time_, steps),
                                                     patterns_.narrow(1, time_, steps), side_));
}

const at::Tensor& RelationalTrace::memory() {
  if (written_.empty()) return formed_;
  const at::Tensor decay = parameters_.decay();
  at::Tensor weight = parameters_.gain();  // of a candidate in the present memory, [1]
  std::vector<at::Tensor> factors, values;
  for (auto written = written_.rbegin(); written != written_.rend(); ++written) {
    factors.push_back(written->factors);
    values.push_back(weight * written->values);
    weight = weight * decay;
  }
  const at::Tensor sum = ops::associate(at::cat(factors, 1), at::cat(values, 1));
  formed_ = parameters_.forgets()
                ? sum
                : at::addcmul(sum, formed_, decay.pow(static_cast<double>(written_.size())));
  written_.clear();
  return formed_;
}

TwoMemoryPass::TwoMemoryPass(const TwoMemoryCell& cell, const at::Tensor& x,
                             const std::optional<TwoMemoryState>& state)
    : cell_(cell) {
  check_like(x, {-1, -1, cell_->options().inputs}, cell_->item->initial, "TwoMemoryCell: x");
  B_ = x.size(1);
  const bool goes_on = state && state->rows() > 0;
  if (goes_on) cell_->check_state(*state, B_);
  const at::Tensor content = cell_->content->forward(x), pattern = cell_->pattern->forward(x);
  const at::Tensor gate_inputs = cell_->item->gate_inputs(x, content);
  content_ = content.unbind();
  pattern_ = pattern.unbind();
  gate_inputs_ = gate_inputs.defined() ? gate_inputs.unbind() : std::vector<at::Tensor>(x.size(0));
  item_ = goes_on ? state->item : cell_->initial_state(B_).item;
  // The first R is one for all sequences, which saves the first reads a pass over B copies.
  relational_ = std::make_unique<RelationalTrace>(
      *cell_->relational, cell_->options().equations.relational_read,
      goes_on ? state->relational : cell_->relational->initial.unsqueeze(0),
      cell_->attention->forward(x).softmax(-1), pattern);
}

TwoMemoryPass::~TwoMemoryPass() = default;

ops::Associations TwoMemoryPass::step() {
  TESSERA_CHECK(time_ < std::ssize(content_), "TwoMemoryPass: all ", time_, " steps are taken");
  const TwoMemoryOptions& options = cell_->options();
  const at::Tensor &content = content_[time_], &pattern = pattern_[time_];
  const bool squared = options.equations.write_product == WriteProduct::kF1F1;

  at::Tensor read;  // α2 v, eq. 11
  if (options.reads_relational()) read = cell_->relational->alpha2 * relational_->read();
  item_ = cell_->item->write(item_, content, squared ? content : pattern,
                             gate_inputs_[time_]);  // eq. 10
  const ops::Associations candidate =
      cell_->self_attention->forward(item_, read, pattern);      // eq. 8
  if (!options.alpha3.absent()) item_ = transferred(candidate);  // eq. 13
  relational_->write(candidate);                                 // eq. 12
  ++time_;
  return candidate;
}

/// M + α3 (G1(S) + bias) as one product with D x (N + 1) and (N + 1) x D factors; G1 of the memory
/// R, which is linear in R, follows eq. 12 by itself. As in the authors' code, the values of S lie
/// along the columns of M, whose projections are columns, too; the paper's lie along its rows.
at::Tensor TwoMemoryPass::transferred(const ops::Associations& candidate) {
  const auto& relational = *cell_->relational;
  const at::Tensor weight = relational.transfer->weight, bias = relational.transfer->bias;
  const at::Tensor factors =
      ops::transfer_factors(candidate, weight, cell_->options().precision);  // [B, N, D]
  if (cell_->options().equations.transfer == TransferSource::kCandidate) {
    const at::Tensor ones = at::ones({B_, 1, bias.size(0)}, bias.options());
    const at::Tensor left = at::cat({candidate.values, ones}, 1);
    const at::Tensor right = relational.alpha3 * at::cat({factors, bias * ones}, 1);
    return ops::batched_product(left.transpose(1, 2), right, item_);
  }
  if (!transfer_.defined()) transfer_ = ops::transfer(relational_->memory(), weight);
  transfer_ =
      relational.blend(transfer_, ops::batched_product(candidate.values.transpose(1, 2), factors));
  return item_ + relational.alpha3 * (transfer_ + bias).transpose(1, 2);
}

at::Tensor TwoMemoryPass::relational_memory() {
  const at::Tensor& memory = relational_->memory();
  return memory.size(0) == B_ ? memory : memory.expand({B_, -1, -1, -1});
}

}  // namespace tessera
