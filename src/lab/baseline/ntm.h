#pragma once

#include "lab/baseline/addressed_memory.h"

namespace tessera {

struct NtmConfig {
  int64_t inputs = 34;
  int64_t outputs = 32;
  int64_t controller = 256;
  int64_t slots = 128;
  int64_t width = 32;
  int64_t heads = 1;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("inputs", inputs, "width of the input vectors", kSizes);
    field("outputs", outputs, "width of the output vectors", kSizes);
    field("controller", controller, "width of the LSTM that controls the heads", kSizes);
    field("slots", slots, "rows of the memory", kSizes);
    field("width", width, "width of a row", kSizes);
    field("heads", heads, "read heads, and as many write heads", kCounts);
  }

  /// Throws UsageError on sizes that are together too large.
  void check() const;
};

/// A Neural Turing Machine (Graves et al. 2014): an LSTM that moves read and write heads over a
/// memory of N rows. In each step its heads are addressed by content and by place (section 3.3),
/// the write heads erase and add (eq. 3, 4), then the read heads read (eq. 2). The head of the
/// network sees h and the reads.
///
/// Differs from Graves et al. 2014: read heads too are addressed by the memory before the step
/// (eq. 5 has M_t, which for a write head cannot be meant); shifts are by -1, 0 and 1.
///
/// The controller asks of each head: key, strength, gate, shifts, sharpness; of each write head
/// what to erase; then of each what to add.
///
/// State: "memory" [B, N, W], "weights" [B, 2R, N] of the R read heads, then of the write heads,
/// "reads" [B, R, W], "hidden" and "cell" of the controller. In the first one the weights are the
/// softmax of parameters.
class Ntm : public AddressedMemoryNetwork<Ntm, NtmConfig> {
 public:
  static constexpr std::string_view kKind = "ntm";

  explicit Ntm(const NtmConfig& config, std::optional<uint64_t> seed = 0,
               at::Device device = at::kCPU);
  static Layout layout_of(const NtmConfig& config);

 protected:
  Parts first_state(int64_t B) const override;
  at::Tensor advance(const at::Tensor& projected, Parts& state) override;

 private:
  enum Part : size_t { kMemory, kWeights, kReads, kHidden, kCell };  // of the state, in layout_of
  at::Tensor addressed(const at::Tensor& address, const at::Tensor& memory,
                       const at::Tensor& before) const;
};

}  // namespace tessera
