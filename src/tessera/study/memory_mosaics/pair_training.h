#pragma once

#include <string>

#include "tessera/study/study.h"
#include "tessera/task/language_model/training.h"

/// A Memory Mosaic and a GPT of the same size, trained on the same text in the same order.
namespace tessera::memory_mosaics_study {

/// The settings of a study that trains the two.
struct PairSettings {
  CorpusConfig data;
  TrainConfig train;
  SampleConfig sample;
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t channels = 256;
  int64_t window = 256;
  double dropout = 0.05;
  ops::Precision precision = ops::Precision::kFloat32;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("data", data, "which text, cut into which tokens");
    field("train", train, "how both are trained");
    field("sample", sample, "what they are asked to write");
    field("layers", layers, "blocks of both networks");
    field("heads", heads, "memories per unit, attention heads");
    field("channels", channels, "width of both networks");
    field("window", window, "tokens of a training window");
    field("dropout", dropout, "probability, in both");
    field("precision", precision, "number format of matrix products");
  }
};

/// The text of both in the study's folder. The corpus of a training that has begun is reused.
Corpus prepare_pair_corpus(const PairSettings& settings, const StudyContext& context);

/// Trains one kind ("memory_mosaic", "gpt") into the study's folder, or continues a training that
/// the folder holds, so that the study may be stopped and started again. Throws Interrupted.
TrainedLanguageModel train_one_of_pair(const PairSettings& settings, const std::string& kind,
                                       const Corpus& corpus, const StudyContext& context);

}  // namespace tessera::memory_mosaics_study
