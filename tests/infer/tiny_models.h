#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <memory>

#include "tessera/infer/streaming_session.h"
#include "tessera/model/gpt.h"
#include "tessera/model/memory_mosaic.h"
#include "tessera/model/memory_mosaic_v2.h"

namespace tessera::test {

constexpr int64_t kVocabulary = 17;
constexpr int64_t kWindow = 8;

/// A larger embedding than the initial one, so that the logits differ well.
template <typename Model>
std::shared_ptr<LanguageModel> with_distinct_logits(std::shared_ptr<Model> model) {
  at::NoGradGuard no_grad;
  model->named_parameters()["embedding"].mul_(30.0 / model->named_parameters()["embedding"].norm());
  return model;
}

inline MemoryMosaicConfig tiny_mosaic_config() {
  return {.vocabulary = kVocabulary, .window = kWindow, .layers = 2, .heads = 2, .channels = 8};
}

inline std::shared_ptr<LanguageModel> tiny_mosaic(
    Parameterisation parameterisation = Parameterisation::kPaper,
    int64_t vocabulary = kVocabulary) {
  MemoryMosaicConfig config = tiny_mosaic_config();
  config.vocabulary = vocabulary;
  config.parameterisation = parameterisation;
  return with_distinct_logits(std::make_shared<MemoryMosaic>(config));
}

inline std::shared_ptr<LanguageModel> tiny_mosaic_v2() {
  const MemoryMosaicV2Config config{.vocabulary = kVocabulary,
                                    .window = kWindow,
                                    .layers = 2,
                                    .heads = 2,
                                    .channels = 8,
                                    .short_term = 3,
                                    .delay = 2,
                                    .longest_delay = 4};
  return with_distinct_logits(std::make_shared<MemoryMosaicV2>(config));
}

inline std::shared_ptr<LanguageModel> tiny_gpt(Positions positions) {
  const GptConfig config{.vocabulary = kVocabulary,
                         .window = kWindow,
                         .layers = 2,
                         .heads = 2,
                         .channels = 8,
                         .positions = positions};
  return with_distinct_logits(std::make_shared<Gpt>(config));
}

/// A model whose logits are these, whatever it has read.
inline std::shared_ptr<LanguageModel> fixed_logits(const std::vector<float>& logits) {
  const GptConfig config{.vocabulary = std::ssize(logits),
                         .window = kWindow,
                         .layers = 1,
                         .heads = 1,
                         .channels = 2,
                         .positions = Positions::kRotary,
                         .bias = true};
  const auto model = std::make_shared<Gpt>(config);
  at::NoGradGuard no_grad;
  auto parameters = model->named_parameters();
  parameters["norm.weight"].zero_();
  parameters["norm.bias"].copy_(at::tensor({1.0f, 0.0f}));
  parameters["embedding"].select(1, 0).copy_(at::tensor(logits));
  return model;
}

/// A text without period.
inline Tokens some_text(int64_t length, int64_t seed) {
  Tokens text;
  for (int64_t t = 0; t < length; ++t) text.push_back((t * t * 7 + seed * (t + 3)) % kVocabulary);
  return text;
}

inline at::Tensor tensor_of(const Tokens& text) {
  return at::tensor(text, at::kLong);
}

/// The logits [V] after the last `window` tokens of a text, by reading them at once.
inline at::Tensor recomputed(LanguageModel& model, const Tokens& text, size_t window = SIZE_MAX) {
  at::NoGradGuard no_grad;
  const Tokens read(text.end() - std::min(window, text.size()), text.end());
  return model.logits(model.hidden(padded({read})).select(1, -1))[0];
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace tessera::test
