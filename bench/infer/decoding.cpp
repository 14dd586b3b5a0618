// One line of JSON: tokens a second of a model of GPT-2's size with random weights, the best of
// several. Reading: a prompt of 256 tokens, into an empty memory, into one that holds as many, and
// into one that is full. Writing: one token at a time, behind 256 tokens, in one stream and in 16.
// Stored pairs are kept in 16 bits, as llama.cpp keeps keys and values unless it is told otherwise.
// bench/rivals/llama_cpp.sh runs it beside llama.cpp.
//
//   tessera_bench infer/decoding gpt|memory_mosaic|memory_mosaic_v2 float32|bf16|int8 THREADS
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/support/clocks.h"
#include "bench/support/program.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/model/model_kind.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/huge_pages.h"

namespace tessera::bench::decoding {
namespace {

constexpr int64_t kPrompt = 256, kSteps = 32, kRepetitions = 5, kStreams = 16;

std::shared_ptr<LanguageModel> random_model(const std::string& kind, ops::WeightType type) {
  const auto model = make_language_model(kind, {{"vocabulary", 50257}, {"window", 1024}});
  model->keep_pairs_in(ops::WeightType::kBFloat16);
  at::NoGradGuard no_grad;
  const auto matrices = model->weight_matrices();
  for (auto& parameter : model->named_parameters()) {
    if (std::ranges::find(matrices, parameter.key()) == matrices.end()) continue;
    parameter.value().set_requires_grad(false);
    parameter.value().set_data(ops::stored_as(parameter.value().detach(), type));
    move_to_huge_pages(parameter.value());
  }
  return model;
}

void measure(const std::string& kind, ops::WeightType type) {
  const auto model = random_model(kind, type);
  Tokens prompt;
  for (int64_t t = 0; t < kPrompt; ++t) prompt.push_back((t * t * 31 + 7 * t) % 50257);
  double reading = 1e9, reading_on = 1e9, reading_full = 1e9, writing = 1e9;
  for (int64_t repetition = 0; repetition < kRepetitions; ++repetition) {
    StreamingSession session(*model, Reading::kStreaming);
    reading = std::min(reading, seconds_of([&] { session.add({prompt}); }));
    for (int64_t step = 0; step < kSteps; ++step)
      writing = std::min(writing, seconds_of([&] { session.step({1}); }));
    reading_on = std::min(reading_on, seconds_of([&] { session.read({prompt}); }));
    if (repetition >= 2) continue;
    StreamingSession bounded(*model, Reading::kStreaming, {kPrompt, Eviction::kOldest});
    bounded.add({prompt});
    reading_full = std::min(reading_full, seconds_of([&] { bounded.read({prompt}); }));
  }
  StreamingSession streams(*model, Reading::kStreaming);
  for (int64_t s = 0; s < kStreams; ++s) streams.add({prompt});
  double writing_streams = 1e9;
  for (int64_t step = 0; step < kSteps / 4; ++step)
    writing_streams =
        std::min(writing_streams, seconds_of([&] { streams.step(Tokens(kStreams, 1)); }));
  fmt::print(
      "{{\"reading\": {:.1f}, \"writing\": {:.2f}, \"writing_streams\": {:.1f}, \"reading_on\": "
      "{:.1f}, \"reading_full\": {:.1f}}}\n",
      kPrompt / reading, 1 / writing, kStreams / writing_streams, kPrompt / reading_on,
      kPrompt / reading_full);
}

const Program program("infer/decoding",
                      "gpt|memory_mosaic|memory_mosaic_v2 float32|bf16|int8 THREADS",
                      [](const Words& words) {
                        at::set_num_threads(std::stoi(words[2]));
                        measure(words[0], config::enum_value<ops::WeightType>(words[1], "type"));
                      });

}  // namespace
}  // namespace tessera::bench::decoding
