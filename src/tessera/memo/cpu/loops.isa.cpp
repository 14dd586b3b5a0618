#include "tessera/memo/cpu/loops.h"

namespace tessera::memo::cpu::TESSERA_ISA {

void sign_transpose(const SignTranspose&);
void sign_products(const SignProducts&);
void correlation_read(const CorrelationRead&);
void digit_planes(const DigitPlanes&);
void nibble_products(const NibbleProducts&);
void window_products(const WindowProducts&);
void key_rounding(const KeyRounding&);
void hadamard_scores(const HadamardScores&);

extern const IntegerLoops kIntegerLoops;
const IntegerLoops kIntegerLoops = {sign_transpose, sign_products,   correlation_read,
                                    digit_planes,   nibble_products, window_products,
                                    key_rounding,   hadamard_scores};

}  // namespace tessera::memo::cpu::TESSERA_ISA
