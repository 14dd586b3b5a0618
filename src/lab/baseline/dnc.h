#pragma once

#include "lab/baseline/addressed_memory.h"

namespace tessera {

struct DncConfig {
  int64_t inputs = 34;
  int64_t outputs = 32;
  int64_t controller = 256;
  int64_t slots = 20;
  int64_t width = 64;
  int64_t read_heads = 4;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("inputs", inputs, "width of the input vectors", kSizes);
    field("outputs", outputs, "width of the output vectors", kSizes);
    field("controller", controller, "width of the LSTM that controls the heads", kSizes);
    field("slots", slots, "rows of the memory", kSizes);
    field("width", width, "width of a row", kSizes);
    field("read_heads", read_heads, "heads that read; one writes", kCounts);
  }

  /// Throws UsageError on sizes that are together too large.
  void check() const;
};

/// A Differentiable Neural Computer (Graves et al. 2016, Methods): an LSTM with a memory of N rows,
/// of which the write head chooses the least used ones or those of a content, and which the read
/// heads find by content or follow in the order in which they were written. The head of the network
/// sees h and the reads.
///
/// Differs from Graves et al. 2016: the first memory, reads and controller state are learned, not
/// zero; usage is kept 1e-6 away from 0 while rows are allocated.
///
/// State: "memory" [B, N, W], "usage" and "precedence" [B, N], "links" [B, N, N], "write_weights"
/// [B, N], "read_weights" [B, R, N], "reads" [B, R, W], "hidden" and "cell" of the controller.
class Dnc : public AddressedMemoryNetwork<Dnc, DncConfig> {
 public:
  static constexpr std::string_view kKind = "dnc";

  explicit Dnc(const DncConfig& config, std::optional<uint64_t> seed = 0,
               at::Device device = at::kCPU);
  static Layout layout_of(const DncConfig& config);

 protected:
  at::Tensor advance(const at::Tensor& projected, Parts& state) override;

 private:
  enum Part : size_t {
    kMemory,
    kUsage,
    kPrecedence,
    kLinks,
    kWriteWeights,
    kReadWeights,
    kReads,
    kHidden,
    kCell
  };  // of the state, in layout_of
  /// What the controller asks of the memory in one step (the interface vector).
  struct Requests;
  Requests requests(const at::Tensor& hidden);
  void write_memory(const Requests& wanted, Parts& state) const;
  void read_memory(const Requests& wanted, Parts& state) const;
};

}  // namespace tessera
