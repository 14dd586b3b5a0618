#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/data/text_encoder.h"

namespace tessera {
class Processes;
}

namespace tessera::jobs {

/// What one of several processes reads of the documents that they evaluate together, or a process
/// alone, which reads all. Each is asked about the same documents in the same order. No process
/// encodes what another one encodes.
class EvaluationShare {
 public:
  /// Bytes from which a document is long: its batches of windows are worth sharing.
  static constexpr size_t kLongBytes = 1 << 16;

  /// processes: null for one alone. Not owned.
  EvaluationShare(const Tokenizer& tokenizer, Processes* processes);

  /// Whether the next document, of so many bytes, is this process's. It is given to the process
  /// that has had the fewest bytes.
  bool takes_document(size_t bytes);
  /// Whether the next batch of windows of a document that all processes have is this process's.
  bool takes_batch();

  /// The ids of a document [N] int64.
  at::Tensor encode(std::string_view document);
  /// The same in all processes, each of which encodes some pieces of the document and sends them to
  /// the others. Throws ProcessLost.
  at::Tensor encode_together(std::string_view document);

  bool is_alone() const { return processes_ == nullptr; }
  /// Whether this process speaks for all.
  bool leads() const;

 private:
  bool is_own_turn(int64_t turn) const;

  Processes* processes_;
  TextEncoder encoder_;
  std::vector<size_t> bytes_taken_;  // by each process
  int64_t batches_ = 0, pieces_ = 0;
};

}  // namespace tessera::jobs
