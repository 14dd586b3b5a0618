#include "tessera/ops/cpu/loops.h"

namespace tessera::ops::cpu::TESSERA_ISA {

void leaky_average_forward(const LeakyAverageForward&);
void leaky_average_backward(const LeakyAverageBackward&);
void peek_average_forward(const PeekAverageForward&);
void peek_average_backward(const PeekAverageBackward&);
void scaled_unit_norm_forward(const ScaledUnitNormForward&);
void scaled_unit_norm_backward(const ScaledUnitNormBackward&);
void memory_read(const MemoryRead&);
void cross_entropy(const CrossEntropy&);
void row_products(const RowProducts&);
void layer_norm(const LayerNorm&);
void context_step(const ContextStep&);
void persistent_step(const PersistentStep&);
void activation_dropout(const ActivationDropout&);
void tanh(const Tanh&);
void add_tanh_gradient(const TanhGradient&);
void gated_write_forward(const GatedWrite&);
void gated_write_backward(const GatedWriteBackward&);
void attention_factors_forward(const AttentionFactors&);
void attention_factors_backward(const AttentionFactorsBackward&);

extern const Loops kLoops;
const Loops kLoops = {leaky_average_forward,
                      leaky_average_backward,
                      peek_average_forward,
                      peek_average_backward,
                      scaled_unit_norm_forward,
                      scaled_unit_norm_backward,
                      memory_read,
                      cross_entropy,
                      row_products,
                      layer_norm,
                      context_step,
                      persistent_step,
                      activation_dropout,
                      tanh,
                      add_tanh_gradient,
                      gated_write_forward,
                      gated_write_backward,
                      attention_factors_forward,
                      attention_factors_backward};

}  // namespace tessera::ops::cpu::TESSERA_ISA
