#pragma once

#include <ATen/ATen.h>

#include "tessera/model/stm.h"

namespace tessera::bench {

/// A two-memory model with the weights of the given one, as plain tensor formulas that follow the
/// equations one by one, the way the authors' code computes it: the products of all queries, keys
/// and values are one tensor [B, N, N, D, D], transfers and outputs read whole relational memories,
/// and every step computes its output.
class PlainStm {
 public:
  explicit PlainStm(Stm& model)
      : model_(model),
        cell_(*model.cell),
        options_(model.cell->options()),
        equations_(options_.equations) {}

  struct Step {
    at::Tensor output;  ///< [B, out]
    TwoMemoryState state;
  };
  /// x [B, in].
  Step step(const at::Tensor& x, const TwoMemoryState& state) {
    const at::Tensor content = cell_.content->forward(x), pattern = cell_.pattern->forward(x);
    const at::Tensor slots = cell_.attention->forward(x).softmax(-1);
    const auto& relational = *cell_.relational;

    const bool by_keys = equations_.relational_read == ops::ReadSide::kKeys;
    at::Tensor read = at::einsum(by_keys ? "bs,ba,bsae->be" : "bs,be,bsae->ba",
                                 {slots, pattern, state.relational});  // eq. 11
    if (equations_.relational_write == RelationalWrite::kReplace) read = at::zeros_like(read);
    at::Tensor item = written(state.item, x, content, pattern);  // eq. 9, 10
    const at::Tensor candidate =
        associations(item + relational.alpha2 * outer(read, pattern));  // eq. 4-8
    const at::Tensor memory = joined(state.relational, candidate);      // eq. 12
    const bool of_candidate = equations_.transfer == TransferSource::kCandidate;
    if (!options_.alpha3.absent())
      item = item + relational.alpha3 * (of_candidate ? transferred(candidate)
                                                      : transferred(memory).transpose(1, 2));
    return {output(memory), {item, memory}};
  }

  /// x [B, T, in] -> outputs [B, T, out].
  Stm::Sequence forward(const at::Tensor& x) {
    TwoMemoryState state = cell_.initial_state(x.size(0));
    std::vector<at::Tensor> outputs;
    for (const at::Tensor& step_x : x.unbind(1)) {
      Step next = step(step_x, state);
      outputs.push_back(next.output);
      state = next.state;
    }
    return {at::stack(outputs, 1), state};
  }

 private:
  static at::Tensor outer(const at::Tensor& left, const at::Tensor& right) {
    return left.unsqueeze(-1) * right.unsqueeze(-2);
  }

  at::Tensor joined(const at::Tensor& memory, const at::Tensor& candidate) {
    const at::Tensor& alpha1 = cell_.relational->alpha1;
    switch (equations_.relational_write) {
      case RelationalWrite::kDecay:
        return alpha1 * memory + candidate;
      case RelationalWrite::kAdd:
        return memory + alpha1 * candidate;
      default:
        return candidate;
    }
  }

  at::Tensor written(const at::Tensor& item, const at::Tensor& x, const at::Tensor& content,
                     const at::Tensor& pattern) {
    const bool squared = equations_.write_product == WriteProduct::kF1F1;
    const at::Tensor product = outer(content, squared ? content : pattern);
    if (!options_.gated) return item + product;
    const bool of_code = equations_.gates == ops::GateForm::kSigmoid;
    const at::Tensor of_input = cell_.item->input_gate->forward(of_code ? content : x);  // [B, 2D]
    const at::Tensor gates =
        of_code ? cell_.item->memory_gate->forward(item.tanh()) + of_input.unsqueeze(1)
                : at::matmul(cell_.item->memory_gate->weight, item.tanh()) + of_input.unsqueeze(2);
    const auto parts = gates.chunk(2, of_code ? -1 : 1);
    const at::Tensor input = parts[0] + cell_.item->input_bias;
    const at::Tensor forget = parts[1] + cell_.item->forget_bias;
    if (!of_code) return forget * item + input * product;
    return forget.sigmoid() * item + input.sigmoid() * product.tanh();
  }

  at::Tensor associations(const at::Tensor& memory) {
    const auto& attention = *cell_.self_attention;
    at::Tensor rows;  // [B, 3N, D]
    if (equations_.projection != MemoryProjection::kRows) {
      const at::Tensor columns = cell_.self_attention->projection->forward(memory);
      rows = at::layer_norm(columns, attention.norm_weight.sizes(), attention.norm_weight,
                            attention.norm_bias)
                 .transpose(1, 2);
    } else {
      const at::Tensor weight = attention.norm_weight.repeat_interleave(options_.slots, 0);
      const at::Tensor bias = attention.norm_bias.repeat_interleave(options_.slots, 0);
      rows = at::layer_norm(at::matmul(attention.projection->weight, memory), {options_.width}) *
                 weight +
             bias;
    }
    const auto parts = rows.chunk(3, 1);  // queries, keys, values
    const at::Tensor factors = (parts[0].unsqueeze(2) * parts[1].unsqueeze(1)).tanh();
    return outer(factors, parts[2].unsqueeze(1)).sum(2);  // [B, N, N, D, D] -> [B, N, D, D]
  }

  at::Tensor transferred(const at::Tensor& memory) {  // eq. 13, the authors' way round
    return cell_.relational->transfer->forward(memory.flatten(1, 2).transpose(1, 2));
  }

  at::Tensor output(const at::Tensor& memory) {                                    // eq. 14
    const at::Tensor distilled = model_.distillation->forward(memory.flatten(2));  // [B, N, R]
    at::Tensor read = model_.readout->forward(distilled.flatten(1));
    if (model_.configuration().has_head_norm())
      read = at::layer_norm(read, {read.size(-1)}, model_.head_norm_weight, model_.head_norm_bias);
    return model_.configuration().has_head() ? model_.head->forward(read) : read;
  }

  Stm& model_;
  TwoMemoryCellImpl& cell_;
  TwoMemoryOptions options_;
  TwoMemoryEquations equations_;
};

}  // namespace tessera::bench
