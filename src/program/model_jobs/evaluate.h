#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/jobs/job.h"
#include "tessera/base/config.h"
#include "tessera/data/text_encoder.h"
#include "tessera/infer/evaluation.h"
#include "tessera/infer/model_folder.h"

namespace tessera {
class Processes;
class TextSource;
}  // namespace tessera

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

/// The loss of a model on a text file, or on the files of a folder. Files may hold several
/// documents (for_each_document), each of which is read on its own.
struct Evaluate {
  static constexpr std::string_view kName = "eval";
  static constexpr std::string_view kHelp =
      "Loss, perplexity and bits per byte of a model on a text";
  static constexpr std::string_view kDoing = "Evaluating";

  std::string data, suffix;
  EvaluationOptions options;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("data", data, "text file, or a folder of them", config::required());
    field("suffix", suffix, "read only the files of a folder whose names end in this");
    options.visit_fields(field);
  }

  struct Answer {
    LossByPosition by_position;
    int64_t bytes = 0;  ///< of the predicted tokens' text

    double loss() const { return by_position.mean(); }  ///< nats per token
    double perplexity() const;
    double bits_per_byte() const;

    config::Json json() const;
  };
  /// Throws DataError where the data has nothing to predict.
  Answer run(const ModelFolder& folder, const OnProgress& on_progress) const;
  /// The same by several processes together, in each of which this is called with the same model
  /// and the same data; one alone where `processes` is null. The answer is the same in all.
  Answer run(const ModelFolder& folder, const TextSource& source, Processes* processes,
             const OnProgress& on_progress) const;
};

}  // namespace tessera::jobs
