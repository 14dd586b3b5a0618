// What the last position of a window reads, on average over texts: the weights of a Memory Mosaic's
// memories and of GPTs with three kinds of positions, at the length they were trained on and at
// three times that length (Zhang et al. 2024, figures 14, 15 and 16).

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/study/memory_mosaics/network_training.h"
#include "lab/study/memory_mosaics/studies.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/model/block_network.h"
#include "tessera/model/memory_mosaic.h"
#include "tessera/report/line_chart.h"

namespace tessera::memory_mosaics_study {
namespace {

constexpr int64_t kLongerBy = 3;  // times the training window
constexpr int64_t kRecent = 10;   // pairs that count as recent

struct AttentionSettings : NetworkSettings {
  int64_t sequences = 1000;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    NetworkSettings::visit_fields(field);
    field("sequences", sequences, "texts that the weights are averaged over", config::at_least(1));
  }
};

AttentionSettings attention_settings(StudySize size) {
  AttentionSettings settings = {story_settings(size)};
  settings.layers = 1;
  if (size == StudySize::kQuick) {
    settings.sequences = 200;
    settings.train.evaluate_every = 200;
  } else if (size == StudySize::kDefault) {
    settings.channels = 192;
    settings.train.steps = 2000;
    settings.train.evaluate_every = 500;
  } else {
    settings.sequences = 5000;
  }
  return settings;
}

const std::vector<Contestant>& attending_networks() {
  const auto gpt = [](const char* name, const char* positions, const char* folder) {
    return Contestant{
        .name = name, .model = {{"kind", "gpt"}, {"positions", positions}}, .folder = folder};
  };
  static const std::vector<Contestant> all = {
      network_of("Memory Mosaic", "memory_mosaic"),
      gpt("GPT, learned positions", "learned", "gpt_learned"),
      gpt("GPT, RoPE", "rotary", "gpt_rope"),
      gpt("GPT, ALiBi", "alibi", "gpt_alibi"),
  };
  return all;
}

/// Windows [count, length] that begin anywhere in the validation text, the same for every network.
at::Tensor random_windows(const Corpus& corpus, int64_t count, int64_t length, uint64_t seed) {
  RandomStream draws(seed, 0);
  std::vector<int64_t> ids(count * length);
  for (int64_t row = 0; row < count; ++row)
    corpus.validation.read(draws.below(corpus.validation.size() - length + 1),
                           std::span(ids).subspan(row * length, length));
  return at::tensor(ids, at::kLong).view({count, length});
}

/// The weights with which the last position reads in the first block, mean over the windows:
/// [H, N].
at::Tensor mean_weights(LanguageModel& model, const at::Tensor& windows, std::FILE* progress) {
  constexpr int64_t kBatch = 16;
  Progress bar(progress, "Reading", windows.size(0));
  at::Tensor sum;
  int64_t read = 0;
  for (const at::Tensor& rows : windows.split(kBatch)) {
    InterruptGuard::stop_if_interrupted("stopped");
    const ResidualTrace trace = dynamic_cast<TracedModel&>(model).trace(rows);
    const at::Tensor part =
        trace.blocks.front().pairs.front().weights.to(at::kDouble).sum(0);  // [H, N]
    sum = sum.defined() ? sum + part : part;
    bar.update(read += rows.size(0));
  }
  return sum / windows.size(0);
}

/// One line a head, over means of neighbouring positions; 1 is a flat map.
void add_map(const std::string& network, const at::Tensor& weights, int64_t length,
             const std::string& name, StudyResults& results) {
  constexpr int64_t kGroups = 64;
  const int64_t H = weights.size(0), N = weights.size(1);
  const int64_t width = std::max<int64_t>(1, N / kGroups);
  std::vector<ShownSeries> heads;
  for (int64_t head = 0; head < H; ++head) {
    const std::string shown = fmt::format("head {}", head + 1);
    heads.push_back({fmt::format("{}, {} tokens, {}", network, length, shown), shown});
    for (int64_t begin = N % width; begin < N; begin += width)  // whole groups, up to the end
      results.add_point({heads.back().series, 0.5 * (2 * begin + width + 1),
                         N * weights[head].narrow(0, begin, width).mean().item<double>()});
  }
  results.add_chart(
      name,
      results.panel_of_points(fmt::format("{}: what token {} reads", network, length), {"position"},
                              {"weight, times the number of positions", Scale::kLog}, heads),
      "What the last token of a window reads in the first block, a mean over many "
      "windows. At 1 every position is read alike.");
}

double recent_share(const at::Tensor& weights, int64_t head) {
  const int64_t recent = std::min(kRecent, weights.size(1));
  return weights[head].narrow(0, weights.size(1) - recent, recent).sum().item<double>();
}

/// The largest over the smallest mean weight of eighths of the window, without the recent pairs:
/// 1 is a flat map.
Cell unevenness(const at::Tensor& weights, int64_t head) {
  const at::Tensor older =
      weights[head].narrow(0, 0, std::max<int64_t>(1, weights.size(1) - kRecent));
  std::vector<double> means;
  for (const at::Tensor& part : older.chunk(8)) means.push_back(part.mean().item<double>());
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  return *least > 0 ? Cell::significant(*most / *least, 3) : Cell("some are not read");
}

void add_rows(const std::string& network, int64_t length, const at::Tensor& weights,
              const at::Tensor& decay, Table& table) {
  for (int64_t head = 0; head < weights.size(0); ++head)
    table.add_row({network, length, head + 1,
                   decay.defined() ? Cell::fixed(decay[head].item<double>(), 4) : Cell(""),
                   Cell::fixed(recent_share(weights, head), 4), unevenness(weights, head)});
}

/// Figure 16: the wider the leaky average, the wider the recent peak.
void add_decay_picture(const at::Tensor& decay, const at::Tensor& weights, StudyResults& results) {
  auto chart = std::make_unique<LineChart>(
      fmt::format("Memory Mosaic: weight of the last {} pairs", kRecent),
      Axis{.label = "leaky average's coefficient λ"}, Axis{.label = "share of the weight"});
  Series series{"heads", {}, SeriesStyle::kPoints};
  for (int64_t head = 0; head < decay.size(0); ++head)
    series.points.push_back({decay[head].item<double>(), recent_share(weights, head)});
  for (const ChartPoint& point : series.points)
    results.add_point({"recent weight by leaky average", point.x, point.y});
  chart->add(std::move(series));
  results.add_chart("leaky-average", std::move(chart),
                    "Each point is a head (figure 16). The nearer λ is to 1, the further back its "
                    "keys look.");
}

}  // namespace

void attention(StudyContext& context) {
  const AttentionSettings settings = context.settings(attention_settings, kNoSetting);
  StudyResults& results = context.results();
  const Corpus corpus = prepare_study_corpus(settings.data, context);
  check_validation_text(corpus, kLongerBy * settings.window);
  const auto trained = train_networks(settings, attending_networks(), corpus, context);

  Table table("What the last position reads",
              {"network", "tokens", "head", "λ", fmt::format("weight of the last {}", kRecent),
               "most / least of the rest"});
  for (size_t i = 0; i < trained.size(); ++i) {
    LanguageModel& model = *trained[i].first().learner->model();
    const auto* mosaic = dynamic_cast<const MemoryMosaic*>(&model);
    const at::Tensor decay = mosaic ? mosaic->block(0)->context->key->decay() : at::Tensor();
    for (int64_t length : {settings.window, kLongerBy * settings.window}) {
      if (length > settings.window && !model.reads_past_window()) continue;
      const at::Tensor weights =
          mean_weights(model, random_windows(corpus, settings.sequences, length, context.seed()),
                       context.progress());
      add_map(attending_networks()[i].name, weights, length,
              fmt::format("{}-{}", attending_networks()[i].folder, length), results);
      add_rows(attending_networks()[i].name, length, weights, decay, table);
      if (mosaic && length == settings.window) add_decay_picture(decay, weights, results);
    }
  }
  results.add_table("heads", std::move(table));
  add_network_results(trained, corpus, results);
  results.add_difference(
      fmt::format("{} heads in {} channels, windows of {} and {} tokens, {} steps on {}; the "
                  "paper: 12 heads in 768 channels, 512 and 1,536 tokens, 80,000 steps on "
                  "BabiStories.",
                  settings.heads, settings.channels, settings.window, kLongerBy * settings.window,
                  settings.train.steps, corpus.description));
  add_token_difference(settings.data, corpus, results);
}

}  // namespace tessera::memory_mosaics_study
