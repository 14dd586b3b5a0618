#pragma once

#include <string>

#include "lab/study/comparison.h"
#include "tessera/memory/mosaic/extractors.h"
#include "tessera/text/text_results.h"

/// Networks of the same size that are trained on the same text in the same order.
namespace tessera::memory_mosaics_study {

/// The settings of a study that trains some.
struct NetworkSettings {
  CorpusConfig data;
  TrainConfig train;
  SampleConfig sample;
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t channels = 256;
  int64_t window = 256;
  double dropout = 0.05;
  Parameterisation parameterisation = Parameterisation::kNano;
  ops::Precision precision = ops::Precision::kFloat32;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("data", data, "which text, cut into which tokens");
    field("train", train, "how all are trained");
    field("sample", sample, "what they are asked to write");
    field("layers", layers, "blocks of each network");
    field("heads", heads, "memories per unit, attention heads");
    field("channels", channels, "width of each network");
    field("window", window, "tokens of a training window");
    field("dropout", dropout, "probability, in all", config::below(1));
    field("parameterisation", parameterisation, "which published form of the Memory Mosaic");
    field("precision", precision, "number format of matrix products");
  }
};

/// The networks and the schedule of Zhang et al. 2024, figure 7: 12 blocks of 768 channels, 80,000
/// steps of 512 windows.
NetworkSettings paper_network_settings();
/// Networks that learn from generated stories. The paper's: paper_network_settings() on as many
/// stories as BabiStories has, 2.2 million and a hundredth more to validate on. By default: small
/// networks, for two cores. Quick, in a minute or two: fewer stories, narrower networks, fewer
/// steps.
NetworkSettings story_settings(StudySize size);

constexpr int64_t kGpt2Tokens = 50257;

/// The validation loss of a Memory Mosaic over that of a GPT in figure 7: 12 blocks after 80,000
/// steps on BabiStories. The GPT's is in table 2, the Mosaic's in the README of the authors'
/// library.
constexpr double kPublishedRatio = 1.498 / 1.494;

/// A network of this kind, whose folder is named after it.
Contestant network_of(const std::string& name, const std::string& kind);

/// Throws UsageError where the validation part of a text has fewer than so many tokens: before any
/// training, which may take long.
void check_validation_text(const Corpus& corpus, int64_t tokens);

using TrainedNetwork = TrainedContestant<TextLearner>;

/// Throws UsageError where one of the networks cannot be made or trained, or does not fit into
/// memory: before any training, which may take long. Contestant::model: the kind, and fields that
/// differ from the settings'.
void check_networks(const NetworkSettings& settings, const std::vector<Contestant>& networks,
                    const Corpus& corpus);

/// Trains each network once with the settings' seed, after check_networks(). Contestant::model: as
/// there. Throws what compare() throws.
std::vector<TrainedNetwork> train_networks(const NetworkSettings& settings,
                                           const std::vector<Contestant>& networks,
                                           const Corpus& corpus, const StudyContext& context);
double validation_loss(const TrainedNetwork& network);

/// Whether networks read GPT-2's tokens, as the paper's do. data: with which tokenizer.
bool has_gpt2_tokens(const CorpusConfig& data, const Corpus& corpus);
/// Says so where they do not.
void add_token_difference(const CorpusConfig& data, const Corpus& corpus, StudyResults& results);

/// Says that the text is not the paper's, nor the tokens where they are not.
void add_text_difference(const CorpusConfig& data, const Corpus& corpus, StudyResults& results);

/// Says how networks and training differ from the paper's, which had so many blocks there.
void add_size_difference(const NetworkSettings& settings, int64_t paper_layers,
                         StudyResults& results);

/// add_text_results() of these networks.
void add_network_results(const std::vector<TrainedNetwork>& networks, const Corpus& corpus,
                         StudyResults& results);

}  // namespace tessera::memory_mosaics_study
