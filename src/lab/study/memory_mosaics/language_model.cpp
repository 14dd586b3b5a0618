// A Memory Mosaic and a GPT of the same size, trained on the same text in the same order: the
// comparison of Zhang et al. 2024, figure 7, on a machine without GPUs.

#include <cmath>

#include "lab/study/memory_mosaics/network_training.h"
#include "lab/study/memory_mosaics/studies.h"

namespace tessera::memory_mosaics_study {
namespace {

NetworkSettings language_model_settings(StudySize size) {
  if (size == StudySize::kPaper) return paper_network_settings();
  NetworkSettings settings;
  settings.train = {.steps = 500,
                    .batch = 8,
                    .learning_rate = 3e-3,
                    .min_learning_rate = 3e-4,
                    .warmup_steps = 50,
                    .evaluate_every = 50,
                    .evaluate_batches = 8,
                    .checkpoint_every = 100,
                    .sample_every = 250};
  if (size == StudySize::kDefault) return settings;
  settings.layers = 2;
  settings.channels = 64;
  settings.window = 64;
  settings.data.vocabulary = 1024;
  settings.train.steps = 60;
  settings.train.warmup_steps = 10;
  settings.train.evaluate_every = 20;
  settings.train.sample_every = 0;
  return settings;
}

void add_commands(const StudyContext& context, StudyResults& results) {
  const std::string mosaic = (context.folder() / "memory_mosaic").native();
  results.add_command(
      "Write more with the Memory Mosaic:",
      fmt::format("tessera generate --model {}/model --prompt \"In the beginning\"", mosaic));
  results.add_command("Measure it on another text:",
                      fmt::format("tessera eval --model {}/model --data FILE", mosaic));
  results.add_command("Train one of the two alone:",
                      fmt::format("tessera train {}/config.toml --out runs/my-mosaic", mosaic));
  results.add_command("Learn the tokenizer alone:",
                      "tessera tokenizer train FILE --vocabulary 4096 --out tokenizer.json");
}

/// The losses of the two after training, and how far apart they are.
void conclude(const std::vector<TrainedNetwork>& trained, StudyResults& results) {
  const double mosaic = validation_loss(trained[0]), gpt = validation_loss(trained[1]);
  const auto millions = [](const TrainedNetwork& network) {
    return static_cast<double>(network.first().learner->parameter_count()) / 1e6;
  };
  results.conclude(fmt::format(
      "A Memory Mosaic of {:.2f} million parameters predicts held-out text with a loss of {:.3f} "
      "nats a token, a GPT of {:.2f} million with {:.3f}: the Mosaic's is {:.1f} % {}. In the "
      "paper, with larger networks and more text, both end alike.",
      millions(trained[0]), mosaic, millions(trained[1]), gpt, 100 * std::abs(1 - mosaic / gpt),
      mosaic < gpt ? "lower" : "higher"));
}

}  // namespace

void language_model(StudyContext& context) {
  const NetworkSettings settings = context.settings(language_model_settings, kNoSetting);
  const Corpus corpus = prepare_study_corpus(settings.data, context);
  const auto trained = train_networks(
      settings, {network_of("Memory Mosaic", "memory_mosaic"), network_of("GPT", "gpt")}, corpus,
      context);

  StudyResults& results = context.results();
  add_network_results(trained, corpus, results);
  conclude(trained, results);
  results.compare({.what = "validation loss, Memory Mosaic over GPT",
                   .published = kPublishedRatio,
                   .ours = validation_loss(trained[0]) / validation_loss(trained[1]),
                   .digits = 4});
  add_text_difference(settings.data, corpus, results);
  add_size_difference(settings, 12, results);
  add_commands(context, results);
}

}  // namespace tessera::memory_mosaics_study
