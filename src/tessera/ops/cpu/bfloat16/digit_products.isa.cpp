#include "tessera/ops/cpu/bfloat16/digit_products.h"

#include <cstring>

#include "tessera/ops/cpu/bfloat16/bfloat16_block.h"
#include "tessera/simd/integer_vector.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {
namespace {

constexpr int kDigits = 3;
/// Of the vectors that are multiplied with the weights at a time: half of a core's cache.
constexpr int64_t kBytesOfPanels = 1 << 20;

static_assert(kDigitColumns == kBlock);

/// Each number's first eight binary digits, exactly a bfloat16.
Vector first_digit(Vector v) {
  return reinterpret_cast<Vector>(reinterpret_cast<WordVector>(v) & 0xffff0000);
}

/// kBlock vectors as right operands: [2 columns of tiles, inputs / kBlock, kDigits].
struct DigitPanel {
  int64_t steps;  // of kBlock inputs
  BFloat16* operands;

  /// Operands of a column of tiles; a panel has two.
  static int64_t column_size(int64_t steps) { return steps * kDigits * kRightTile; }

  /// Vectors [first, first + kBlock), zeros behind the last.
  void pack(const Products& f, int64_t first) const {
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t step = 0; step < steps; ++step) {
        Vector rest[16][2] = {}, digits[16];
        const int64_t row = first + c * 16;
        for (int64_t r = 0; r < 16 && row + r < f.rows; ++r)
          for (int half = 0; half < 2; ++half)
            rest[r][half] = load(f.x + (row + r) * f.inputs + step * kBlock + half * kLanes);
        BFloat16* tile = operands + c * column_size(steps) + step * kDigits * kRightTile;
        for (int digit = 0; digit < kDigits; ++digit, tile += kRightTile) {
          for (int64_t r = 0; r < 16; ++r) {
            const Vector one = first_digit(rest[r][0]), other = first_digit(rest[r][1]);
            digits[r] = reinterpret_cast<Vector>(round_floats(one, other));
            rest[r][0] -= one;
            rest[r][1] -= other;
          }
          transpose(digits);
          for (int64_t k = 0; k < 16; ++k) store_rounded(tile + k * 32, digits[k]);
        }
      }
  }
};

/// Results of kBlock outputs from `output` on, whose weights these are, with the panel's vectors.
void multiply_block(const Products& f, const BFloat16* weights, int64_t output,
                    const DigitPanel& panel, int64_t first) {
  alignas(64) float sums[kBlock * kBlock];  // [outputs, vectors]
  block_product<false, kDigits>(panel.steps, weights, f.inputs, panel.operands,
                                DigitPanel::column_size(panel.steps), sums, kBlock);
  for (int64_t o = 0; o < kBlock && output + o < f.outputs; o += kLanes) {
    const int64_t outputs = f.outputs - output - o;
    const Vector bias = f.bias ? load_part(f.bias + output + o, outputs) : Vector{};
    for (int64_t v = 0; v < kBlock; v += kLanes) {
      Vector results[kLanes];
      for (int64_t k = 0; k < kLanes; ++k) results[k] = load(sums + (o + k) * kBlock + v);
      transpose(results);
      for (int64_t k = 0; k < kLanes && first + v + k < f.rows; ++k)
        store_part(f.y + (first + v + k) * f.outputs + output + o, results[k] + bias, outputs);
    }
  }
}

}  // namespace

void digit_products(const Products& f) {
  const int64_t steps = f.inputs / kBlock, panel_size = 2 * DigitPanel::column_size(steps);
  const int64_t panels = (f.rows + kBlock - 1) / kBlock;
  const int64_t rounds = (2 * panel_size * panels + kBytesOfPanels - 1) / kBytesOfPanels;
  const int64_t together = (panels + rounds - 1) / rounds;  // in each round about as many
  const int64_t blocks = (f.outputs + kBlock - 1) / kBlock, rest = f.outputs % kBlock;
  const int threads = simd::region_threads(f.rows * f.inputs * f.outputs >= simd::kWorthThreads);
  const simd::ThreadMemory shared(1, (together * panel_size + kBlock * f.inputs) / 2);
  auto* operands = reinterpret_cast<BFloat16*>(shared.of(0));
  const auto* weight = f.weight.as<BFloat16>();
  // The last outputs' weights, filled up to a block.
  BFloat16* last = operands + together * panel_size;
  std::memset(last, 0, kBlock * f.inputs * sizeof *last);
  std::memcpy(last, weight + (f.outputs - rest) * f.inputs, rest * f.inputs * sizeof *last);
#pragma omp parallel num_threads(threads)
  {
    const ProductUnit unit;
    for (int64_t first = 0; first < panels; first += together) {
      const int64_t count = smaller(together, panels - first);
#pragma omp for schedule(static)
      for (int64_t k = 0; k < count; ++k)
        DigitPanel{steps, operands + k * panel_size}.pack(f, (first + k) * kBlock);
#pragma omp for schedule(static)
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t output = block * kBlock;
        const BFloat16* weights = output + kBlock <= f.outputs ? weight + output * f.inputs : last;
        for (int64_t k = 0; k < count; ++k)
          multiply_block(f, weights, output, {steps, operands + k * panel_size},
                         (first + k) * kBlock);
      }
    }
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
