// A GPT as a kind of model, and the formats in which other programs keep its weights.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/model/gpt.h"
#include "tessera/model/model_kind.h"

namespace tessera {
namespace {

using enum TensorForm;

constexpr int64_t kHeadWidth = 64;  // channels, in GPT-2 of every size

config::Json gpt_hyper_parameters(const ForeignSizes& file) {
  config::Json fields = sizes_of_blocks(file, "attention_norm");
  const auto channels = fields.at("channels").get<int64_t>();
  fields["heads"] = file.metadata("n_head").value_or(std::max<int64_t>(channels / kHeadWidth, 1));
  const auto positions = file.shape("position_embedding", 2);
  fields["window"] =
      file.metadata("block_size").value_or(file.metadata("n_positions").value_or(positions[0]));
  return fields;
}

std::vector<NameRow> nano_gpt_names() {
  return {
      {"embedding", "transformer.wte.weight"},
      {"embedding", "lm_head.weight", kSame, /*repeats_other=*/true},
      {"position_embedding", "transformer.wpe.weight"},
      {"blocks.#.attention_norm.*", "transformer.h.#.ln_1.*"},
      {"blocks.#.query_key_value.*", "transformer.h.#.attn.c_attn.*"},
      {"blocks.#.attention_output.*", "transformer.h.#.attn.c_proj.*"},
      {"blocks.#.feed_forward_norm.*", "transformer.h.#.ln_2.*"},
      {"blocks.#.expand.*", "transformer.h.#.mlp.c_fc.*"},
      {"blocks.#.contract.*", "transformer.h.#.mlp.c_proj.*"},
      {"norm.*", "transformer.ln_f.*"},
  };
}

std::vector<NameRow> gpt2_names() {
  return {
      {"embedding", "wte.weight"},
      {"embedding", "lm_head.weight", kSame, /*repeats_other=*/true, /*never_prefixed=*/true},
      {"position_embedding", "wpe.weight"},
      {"blocks.#.attention_norm.*", "h.#.ln_1.*"},
      {"blocks.#.query_key_value.*", "h.#.attn.c_attn.*", kTransposed},
      {"blocks.#.attention_output.*", "h.#.attn.c_proj.*", kTransposed},
      {"blocks.#.feed_forward_norm.*", "h.#.ln_2.*"},
      {"blocks.#.expand.*", "h.#.mlp.c_fc.*", kTransposed},
      {"blocks.#.contract.*", "h.#.mlp.c_proj.*", kTransposed},
      {"norm.*", "ln_f.*"},
  };
}

}  // namespace

ModelKind gpt_kind() {
  WeightFormat nano;
  nano.name = "nanogpt";
  nano.names = nano_gpt_names();
  nano.buffers = {"transformer.h.#.attn.bias", "transformer.h.#.attn.masked_bias"};
  nano.implied = {{"positions", R"("learned")"}, {"gelu", R"("exact")"}};
  nano.hyper_parameters = gpt_hyper_parameters;
  nano.metadata = [](const SequenceModel& m) { return metadata_of_blocks(m, "block_size"); };

  WeightFormat gpt2;  // as Hugging Face names it
  gpt2.name = "gpt2";
  gpt2.names = gpt2_names();
  gpt2.buffers = {"h.#.attn.bias", "h.#.attn.masked_bias"};
  gpt2.implied = {{"positions", R"("learned")"}, {"gelu", R"("tanh")"}, {"bias", "true"}};
  gpt2.hyper_parameters = gpt_hyper_parameters;
  gpt2.metadata = [](const SequenceModel& m) { return metadata_of_blocks(m, "n_positions"); };
  return model_kind_of<Gpt>("transformer baseline: GPT-2's architecture", {nano, gpt2});
}

}  // namespace tessera
