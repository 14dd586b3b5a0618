#pragma once

#include <ATen/ATen.h>

#include "tessera/model/memory_mosaic.h"

namespace tessera::bench {

/// The loss of a Memory Mosaic with the weights of the given one, as dense tensor formulas: the
/// leaky average as a product with a [T, T] matrix, the reads as masked softmaxes of whole score
/// matrices, the cross entropy on whole logits.
class DenseMosaic {
 public:
  DenseMosaic(MemoryMosaic& model, const MemoryMosaicConfig& config)
      : model_(model), config_(config) {}

  at::Tensor loss(const at::Tensor& tokens, const at::Tensor& targets) const {
    const at::Tensor embedding = model_.named_parameters()["embedding"];
    at::Tensor x = at::embedding(embedding, tokens);  // [B, T, C]
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      MosaicBlock block = model_.block(layer);
      x = x + context(*block->context, block->context_norm->forward(x));
      x = x + persistent(*block->persistent, block->persistent_norm->forward(x));
    }
    const at::Tensor gain = model_.named_parameters()["norm.weight"];
    const at::Tensor hidden = at::layer_norm(x, gain.sizes(), gain, {}, 1e-5);
    at::Tensor logits = at::matmul(hidden, embedding.t());
    if (config_.parameterisation == Parameterisation::kPaper)
      logits = logits / std::sqrt(config_.channels);
    return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten());
  }

 private:
  /// [B, T, C] -> [B, H, T, D]
  at::Tensor heads_of(const at::Tensor& x, const torch::nn::Linear& projection) const {
    return at::matmul(x, projection->weight.t())
        .unflatten(-1, {config_.heads, config_.channels / config_.heads})
        .transpose(1, 2);
  }

  static at::Tensor scaled(const at::Tensor& x, const at::Tensor& scale) {
    return x / (x.norm(2, {-1}, true) + kNormEpsilon) * scale.view({-1, 1, 1});
  }

  at::Tensor keys_of(KeyExtractorImpl& key, const at::Tensor& x) const {
    const int64_t T = x.size(1);
    const at::Tensor times = at::arange(T, x.options());
    const at::Tensor distances = (times.unsqueeze(1) - times).clamp_min(0);
    const at::Tensor averaging = key.decay().view({-1, 1, 1}).pow(distances).tril();  // [H, T, T]
    return scaled(at::matmul(averaging, heads_of(x, key.projection)), key.scale());
  }

  at::Tensor context(ContextMemoryImpl& memory, const at::Tensor& x) const {
    const int64_t T = x.size(1);
    const at::Tensor keys = keys_of(*memory.key, x);
    const at::Tensor raw = heads_of(x, memory.value->projection);
    const at::Tensor next = at::constant_pad_nd(raw.narrow(2, 1, T - 1), {0, 0, 0, 1});
    const at::Tensor mix = memory.value->mix.view({-1, 1, 1});
    const at::Tensor values = scaled(mix * raw + (1 - mix) * next, memory.value->scale());
    const at::Tensor hidden = at::ones({T, T}, at::kBool).triu();
    const at::Tensor stored = at::arange(T).gt(0).to(at::kFloat).unsqueeze(1);  // none at time 0
    const at::Tensor weights =
        at::matmul(keys, keys.transpose(2, 3)).masked_fill(hidden, -1e9).softmax(-1) * stored;
    return combined(at::matmul(weights, values), memory.output);
  }

  at::Tensor persistent(PersistentMemoryImpl& memory, const at::Tensor& x) const {
    const at::Tensor keys = keys_of(*memory.key, x);
    const at::Tensor weights =
        at::matmul(keys, memory.slot_keys[0].transpose(1, 2)).softmax(-1);  // [B, H, T, M]
    return combined(at::matmul(weights, memory.slot_values[0]) * memory.scale().view({-1, 1, 1}),
                    memory.output);
  }

  static at::Tensor combined(const at::Tensor& reads, const torch::nn::Linear& output) {
    return at::matmul(reads.transpose(1, 2).flatten(2), output->weight.t());
  }

  MemoryMosaic& model_;
  MemoryMosaicConfig config_;
};

}  // namespace tessera::bench
