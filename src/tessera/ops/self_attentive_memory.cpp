#include "tessera/ops/self_attentive_memory.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tessera/ops/batched_product.h"
#include "tessera/ops/cpu/two_memory.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

cpu::AttentionFactors factors_loop(const at::Tensor& queries, const at::Tensor& keys,
                                   const at::Tensor& factors) {
  return {.B = queries.size(0),
          .queries = queries.size(1),
          .keys = keys.size(1),
          .D = queries.size(2),
          .query = floats_of(queries),
          .key = floats_of(keys),
          .factor = factors.data_ptr<float>()};
}

class FusedAttentionFactors : public torch::autograd::Function<FusedAttentionFactors> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& keys) {
    const at::Tensor q = queries.contiguous(), k = keys.contiguous();
    const at::Tensor factors = at::empty({q.size(0), k.size(1), q.size(1), q.size(2)}, q.options());
    cpu::attention_factors(factors_loop(q, k, factors));
    context->save_for_backward({q, k, factors});
    return factors;
  }

  static variable_list backward(AutogradContext* context, variable_list grad_outputs) {
    check_differentiated_once("attention_factors");
    const auto saved = context->get_saved_variables();
    const at::Tensor &queries = saved[0], &keys = saved[1];
    const at::Tensor grad_factors = grad_outputs[0].contiguous();
    const at::Tensor grad_queries = at::empty_like(queries), grad_keys = at::empty_like(keys);
    cpu::attention_factors_gradient({.forward = factors_loop(queries, keys, saved[2]),
                                     .grad_factor = floats_of(grad_factors),
                                     .grad_query = grad_queries.data_ptr<float>(),
                                     .grad_key = grad_keys.data_ptr<float>()});
    return {grad_queries, grad_keys};
  }
};

/// Bytes of S that are formed at a time: enough rows for a matrix product at full speed, few enough
/// to stay in the cache between forming and reading them.
constexpr int64_t kBlockBytes = int64_t{4} << 20;

void check_associations(const Associations& s, const char* what) {
  check_sequence(s.factors, what);
  check_like(s.values, {s.factors.size(0), s.factors.size(1), -1}, s.factors, what);
}

/// S of some consecutive b, formed in one buffer after another: [count * Nq, D * E].
class BlocksOfS {
 public:
  BlocksOfS(const at::Tensor& factors, const at::Tensor& values)
      : factors_(factors.flatten(2)), values_(values), queries_(factors.size(2)) {
    const int64_t bytes = 4 * factors_.size(2) * values.size(2);
    size_ = std::clamp<int64_t>(kBlockBytes / std::max<int64_t>(bytes, 1), 1, factors.size(0));
    buffer_ = at::empty({size_, factors_.size(2), values.size(2)}, values.options());
  }

  template <typename Visitor>
  void for_each(Visitor&& visit) {
    for (int64_t first = 0; first < values_.size(0); first += size_)
      visit(first, std::min(size_, values_.size(0) - first));
  }

  at::Tensor form(int64_t first, int64_t count) {
    const at::Tensor block = buffer_.narrow(0, 0, count);
    write_batched_product(factors_.narrow(0, first, count).transpose(1, 2),
                          values_.narrow(0, first, count), block);
    return block.view({count * queries_, -1});
  }

 private:
  at::Tensor factors_, values_, buffer_;
  int64_t queries_ = 0, size_ = 1;
};

/// a b in the place of `product`; the operands may be rounded already.
void multiply(const at::Tensor& a, const at::Tensor& b, at::Tensor product) {
  if (a.scalar_type() == product.scalar_type())
    at::mm_out(product, a, b);
  else
    product.copy_(at::mm(a, b));
}

class BlockedDistil : public torch::autograd::Function<BlockedDistil> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& factors,
                            const at::Tensor& values, const at::Tensor& weight,
                            Precision precision) {
    const at::Tensor f = factors.contiguous(), v = values.contiguous();
    const at::Tensor rounded = operand(weight, precision);
    const int64_t Nq = f.size(2);
    const at::Tensor distilled = at::empty({f.size(0) * Nq, weight.size(0)}, f.options());
    BlocksOfS blocks(f, v);
    blocks.for_each([&](int64_t first, int64_t count) {
      multiply(operand(blocks.form(first, count), precision), rounded.t(),
               distilled.narrow(0, first * Nq, count * Nq));
    });
    context->save_for_backward({f, v, weight});
    context->saved_data["precision"] = static_cast<int64_t>(precision);
    return distilled.view({f.size(0), Nq, weight.size(0)});
  }

  static variable_list backward(AutogradContext* context, variable_list grad_outputs) {
    check_differentiated_once("distil");
    const auto saved = context->get_saved_variables();
    const at::Tensor &f = saved[0], &v = saved[1], &weight = saved[2];
    const int64_t Nq = f.size(2);
    const auto precision = static_cast<Precision>(context->saved_data["precision"].toInt());
    const at::Tensor rounded = operand(weight, precision);
    const at::Tensor grad =
        operand(grad_outputs[0].contiguous().flatten(0, 1), precision);  // [B Nq, R]
    at::Tensor grad_weight = at::zeros_like(weight);
    const at::Tensor grad_factors = at::empty_like(f), grad_values = at::empty_like(v);
    BlocksOfS blocks(f, v);
    blocks.for_each([&](int64_t first, int64_t count) {
      const at::Tensor rows = grad.narrow(0, first * Nq, count * Nq);
      const at::Tensor block = blocks.form(first, count);
      add_product(grad_weight, rows.t(), operand(block, precision));
      multiply(rows, rounded, block);  // the gradient of S, in the place of S
      const at::Tensor grad_s = block.view({count, Nq * f.size(3), v.size(2)});
      write_batched_product(v.narrow(0, first, count), grad_s.transpose(1, 2),
                            grad_factors.narrow(0, first, count).flatten(2));
      write_batched_product(f.narrow(0, first, count).flatten(2), grad_s,
                            grad_values.narrow(0, first, count));
    });
    return {grad_factors, grad_values, grad_weight, {}};
  }
};

}  // namespace

at::Tensor attention_factors(const at::Tensor& queries, const at::Tensor& keys) {
  check_vectors(queries, "attention_factors: queries");
  check_like(keys, {queries.size(0), -1, queries.size(2)}, queries, "attention_factors: keys");
  if (loops_run({queries, keys})) return FusedAttentionFactors::apply(queries, keys);
  return (queries.unsqueeze(1) * keys.unsqueeze(2)).tanh();  // [B, Nk, Nq, D]
}

at::Tensor associate(const at::Tensor& factors, const at::Tensor& values) {
  check_sequence(factors, "associate: factors");
  check_like(values, {factors.size(0), factors.size(1), -1}, factors, "associate: values");
  const at::Tensor sums =
      batched_product(factors.flatten(2).transpose(1, 2), values);  // [B, Nq D, E]
  return sums.view({factors.size(0), factors.size(2), factors.size(3), values.size(2)});
}

at::Tensor outer_product_attention(const at::Tensor& queries, const at::Tensor& keys,
                                   const at::Tensor& values) {
  return associate(attention_factors(queries, keys), values);
}

Associations self_attentive_memory(const at::Tensor& queries, const at::Tensor& keys,
                                   const at::Tensor& values) {
  const Associations s = {attention_factors(queries, keys), values};
  check_associations(s, "self_attentive_memory: values");
  return s;
}

at::Tensor contract(const at::Tensor& memory, const at::Tensor& slots, const at::Tensor& patterns,
                    ReadSide side) {
  check_sequence(memory, "contract: memory");
  const int64_t N = memory.size(1), D = memory.size(2), E = memory.size(3);
  check_like(slots, {-1, -1, N}, memory, "contract: slots");
  check_like(patterns, {slots.size(0), slots.size(1), side == ReadSide::kKeys ? D : E}, memory,
             "contract: patterns");
  const bool shared = memory.size(0) == 1;
  TESSERA_CHECK(shared || memory.size(0) == slots.size(0), "contract: a memory of ", memory.size(0),
                " sequences is read by ", slots.size(0));
  const at::Tensor rows =  // [.., N D, E]
      shared ? memory.reshape({N * D, E}) : memory.flatten(1, 2);
  const auto product = [&](const at::Tensor& queries, const at::Tensor& matrices) {
    return shared ? at::matmul(queries, matrices) : batched_product(queries, matrices);
  };
  if (side == ReadSide::kKeys)
    return product((slots.unsqueeze(3) * patterns.unsqueeze(2)).flatten(2), rows);  // [B, C, E]
  const at::Tensor read = product(patterns, rows.transpose(-2, -1));                // [B, C, N D]
  return (read.unflatten(2, {N, D}) * slots.unsqueeze(3)).sum(2);
}

at::Tensor contract(const Associations& s, const at::Tensor& slots, const at::Tensor& patterns,
                    ReadSide side) {
  check_associations(s, "contract: associations");
  const int64_t B = s.factors.size(0), N = s.factors.size(2), D = s.factors.size(3);
  check_like(slots, {B, -1, N}, s.values, "contract: slots");
  check_like(patterns, {B, slots.size(1), side == ReadSide::kKeys ? D : s.values.size(2)}, s.values,
             "contract: patterns");
  const at::Tensor factors = s.factors.flatten(2);  // [B, Nk, N D]
  if (side == ReadSide::kKeys) {
    const at::Tensor queries = (slots.unsqueeze(3) * patterns.unsqueeze(2)).flatten(2);
    const at::Tensor shares = batched_product(queries, factors.transpose(1, 2));
    return batched_product(shares, s.values);  // [B, C, E]; shares [B, C, Nk]: of each value
  }
  const at::Tensor shares = batched_product(patterns, s.values.transpose(1, 2));  // of each factor
  const at::Tensor read = batched_product(shares, factors);                       // [B, C, N D]
  return (read.unflatten(2, {N, D}) * slots.unsqueeze(3)).sum(2);
}

at::Tensor transfer(const at::Tensor& memory, const at::Tensor& weight) {
  check_sequence(memory, "transfer: memory");
  check_like(weight, {-1, memory.size(1) * memory.size(2)}, memory, "transfer: weight");
  return at::matmul(memory.flatten(1, 2).transpose(1, 2), weight.t());
}

at::Tensor transfer_factors(const Associations& s, const at::Tensor& weight, Precision precision) {
  check_associations(s, "transfer_factors: associations");
  check_like(weight, {-1, s.factors.size(2) * s.factors.size(3)}, s.values,
             "transfer_factors: weight");
  return rounded_matmul(s.factors.flatten(2), weight.t(), precision);
}

at::Tensor distil(const at::Tensor& memory, const at::Tensor& weight) {
  check_sequence(memory, "distil: memory");
  check_like(weight, {-1, memory.size(2) * memory.size(3)}, memory, "distil: weight");
  return at::matmul(memory.flatten(2), weight.t());
}

at::Tensor distil(const Associations& s, const at::Tensor& weight, Precision precision) {
  check_associations(s, "distil: associations");
  check_like(weight, {-1, s.factors.size(3) * s.values.size(2)}, s.values, "distil: weight");
  if (loops_run({s.factors, s.values, weight}) && s.factors.numel() > 0)
    return BlockedDistil::apply(s.factors, s.values, weight, precision);
  return rounded_matmul(associate(s.factors, s.values).flatten(2), weight.t(), precision);
}

namespace {

at::Tensor composed(const at::Tensor& memory, const at::Tensor& left, const at::Tensor& right,
                    const at::Tensor& gate_weight, const at::Tensor& gate_input, GateForm form,
                    Precision precision) {
  at::Tensor gates =
      rounded_matmul(memory.tanh(), gate_weight.t(), precision) + gate_input.unsqueeze(1);
  at::Tensor candidate = left.unsqueeze(2) * right.unsqueeze(1);  // [B, D, D]
  if (form == GateForm::kSigmoid) {
    gates = gates.sigmoid();
    candidate = candidate.tanh();
  }
  const auto parts = gates.chunk(2, -1);  // input, forget: [B, D, D] each
  return parts[1] * memory + parts[0] * candidate;
}

class FusedGatedWrite : public torch::autograd::Function<FusedGatedWrite> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& memory,
                            const at::Tensor& left, const at::Tensor& right,
                            const at::Tensor& gate_weight, const at::Tensor& gate_input,
                            Precision precision) {
    const at::Tensor m = memory.contiguous(), l = left.contiguous(), r = right.contiguous();
    const at::Tensor g = gate_input.contiguous();
    const at::Tensor squashed = at::empty_like(m);
    cpu::tanh({m.numel(), floats_of(m), squashed.data_ptr<float>()});
    const at::Tensor gates =
        rounded_matmul(squashed.flatten(0, 1), gate_weight.t(), precision);  // [B D, 2D]
    const at::Tensor written = at::empty_like(m);
    cpu::GatedWrite loop = loop_of(m, l, r, gates);
    loop.gate_input = g.data_ptr<float>();
    loop.written = written.data_ptr<float>();
    cpu::gated_write(loop);
    context->save_for_backward({m, l, r, gate_weight, squashed, gates});
    context->saved_data["precision"] = static_cast<int64_t>(precision);
    return written;
  }

  static variable_list backward(AutogradContext* context, variable_list grad_outputs) {
    check_differentiated_once("gated_write");
    const auto saved = context->get_saved_variables();
    const at::Tensor &m = saved[0], &l = saved[1], &r = saved[2];
    const at::Tensor &gate_weight = saved[3], &squashed = saved[4], &gates = saved[5];
    const auto precision = static_cast<Precision>(context->saved_data["precision"].toInt());
    const at::Tensor grad_written = grad_outputs[0].contiguous();
    const at::Tensor grad_gates = at::empty_like(gates), grad_memory = at::empty_like(m);
    const at::Tensor grad_left = at::empty_like(l), grad_right = at::empty_like(r);
    const at::Tensor grad_input = at::empty({l.size(0), 2 * l.size(1)}, l.options());
    cpu::gated_write_gradient({.forward = loop_of(m, l, r, gates),
                               .grad_written = floats_of(grad_written),
                               .grad_gates = grad_gates.data_ptr<float>(),
                               .grad_memory = grad_memory.data_ptr<float>(),
                               .grad_left = grad_left.data_ptr<float>(),
                               .grad_right = grad_right.data_ptr<float>(),
                               .grad_gate_input = grad_input.data_ptr<float>()});
    const at::Tensor grad_squashed =
        rounded_matmul(grad_gates, gate_weight, precision);  // [B D, D]
    cpu::add_tanh_gradient(
        {m.numel(), floats_of(squashed), floats_of(grad_squashed), grad_memory.data_ptr<float>()});
    return {grad_memory, grad_left,
            grad_right,  rounded_matmul(grad_gates.t(), squashed.flatten(0, 1), precision),
            grad_input,  {}};
  }

 private:
  static cpu::GatedWrite loop_of(const at::Tensor& m, const at::Tensor& l, const at::Tensor& r,
                                 const at::Tensor& gates) {
    return {.B = m.size(0),
            .D = m.size(1),
            .memory = floats_of(m),
            .left = floats_of(l),
            .right = floats_of(r),
            .gates = gates.data_ptr<float>()};
  }
};

}  // namespace

at::Tensor gated_write(const at::Tensor& memory, const at::Tensor& left, const at::Tensor& right,
                       const at::Tensor& gate_weight, const at::Tensor& gate_input, GateForm form,
                       Precision precision) {
  check_vectors(memory, "gated_write: memory");
  const int64_t B = memory.size(0), D = memory.size(2);
  check_like(memory, {B, D, D}, memory, "gated_write: memory");
  check_like(left, {B, D}, memory, "gated_write: left");
  check_like(right, {B, D}, memory, "gated_write: right");
  check_like(gate_weight, {2 * D, D}, memory, "gated_write: gate_weight");
  check_like(gate_input, {B, 2 * D}, memory, "gated_write: gate_input");
  if (form == GateForm::kSigmoid && loops_run({memory, left, right, gate_weight, gate_input}))
    return FusedGatedWrite::apply(memory, left, right, gate_weight, gate_input, precision);
  return composed(memory, left, right, gate_weight, gate_input, form, precision);
}

}  // namespace tessera::ops
