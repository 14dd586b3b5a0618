#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "program/jobs/job.h"
#include "tessera/base/config.h"
#include "tessera/infer/evaluation.h"
#include "tessera/infer/model_folder.h"

namespace tessera {
class Processes;
class TextSource;
}  // namespace tessera

namespace tessera::jobs {

/// Throws std::runtime_error where a model's loss is NaN or infinite.
void check_finite(double loss);

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
