// A Memory Mosaic as a kind of model, and the formats in which other programs keep its weights.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/model/memory_mosaic.h"
#include "tessera/model/model_kind.h"

namespace tessera {
namespace {

using enum TensorForm;

constexpr int64_t kPaperWindow = 512;  // tokens

config::Json mosaic_hyper_parameters(const ForeignSizes& file) {
  config::Json fields = sizes_of_blocks(file, "context_norm");
  const auto mix = file.shape("blocks.0.context.value.mix", 1);       // [H]
  const auto slots = file.shape("blocks.0.persistent.slot_keys", 4);  // [P, H, M, D]
  const auto mask = file.buffer_shape("mosaic.h.0.attn.bias");
  const int64_t window = mask && mask->size() == 4 ? (*mask)[3] : kPaperWindow;
  fields["heads"] = file.metadata("n_head").value_or(mix[0]);
  fields["persistent_slots"] = file.metadata("pmem_size").value_or(slots[2]);
  fields["persistent_count"] = file.metadata("pmem_count").value_or(slots[0]);
  fields["window"] = file.metadata("block_size").value_or(window);
  return fields;
}

std::map<std::string, std::string> mosaic_metadata(const SequenceModel& model) {
  auto result = metadata_of_blocks(model, "block_size");
  const auto& config = dynamic_cast<const MemoryMosaic&>(model).configuration();
  result["pmem_size"] = std::to_string(config.slots());
  result["pmem_count"] = std::to_string(config.persistent_count);
  return result;
}

std::vector<NameRow> nano_mosaic_names() {
  return {
      {"embedding", "mosaic.wte.weight"},
      {"embedding", "lm_head.weight", kSame, /*repeats_other=*/true},
      {"blocks.#.context_norm.*", "mosaic.h.#.ln_1.*"},
      {"blocks.#.context.key.projection.*", "mosaic.h.#.attn.k_featurizer.W_k.*"},
      {"blocks.#.context.key.leak", "mosaic.h.#.attn.k_featurizer.leaky_avg.leaky_key_beta",
       kPerHead},
      {"blocks.#.context.key.log_scale", "mosaic.h.#.attn.k_featurizer.key_scale", kPerHead},
      {"blocks.#.context.value.projection.*", "mosaic.h.#.attn.v_featurizer.W_v.*"},
      {"blocks.#.context.value.mix", "mosaic.h.#.attn.v_featurizer.coef", kPerHead},
      {"blocks.#.context.value.log_scale", "mosaic.h.#.attn.v_featurizer.val_scale", kPerHead},
      {"blocks.#.context.output.*", "mosaic.h.#.attn.c_proj.*"},
      {"blocks.#.persistent_norm.*", "mosaic.h.#.ln_2.*"},
      {"blocks.#.persistent.key.projection.*", "mosaic.h.#.mlp.k_featurizer.W_k.*"},
      {"blocks.#.persistent.key.leak", "mosaic.h.#.mlp.k_featurizer.leaky_avg.leaky_key_beta",
       kPerHead},
      {"blocks.#.persistent.key.log_scale", "mosaic.h.#.mlp.k_featurizer.key_scale", kPerHead},
      {"blocks.#.persistent.slot_keys", "mosaic.h.#.mlp.P_k", kSlots},
      {"blocks.#.persistent.slot_values", "mosaic.h.#.mlp.P_v", kSlots},
      {"blocks.#.persistent.log_scale", "mosaic.h.#.mlp.out_scale", kPerHead},
      {"blocks.#.persistent.output.*", "mosaic.h.#.mlp.c_proj.*"},
      {"norm.*", "mosaic.ln_f.*"},
  };
}

std::vector<NameRow> library_names() {
  return {
      {"embedding", "emb.weight"},
      {"embedding", "head.weight", kSame, /*repeats_other=*/true},
      {"blocks.#.context_norm.*", "blocks.#.ln1.*"},
      {"blocks.#.context.key.projection.*", "blocks.#.attn.k_featurizer.conv.*", kConvolution},
      {"blocks.#.context.key.leak", "blocks.#.attn.leaky_key_beta"},
      {"blocks.#.context.key.log_scale", "blocks.#.attn.kernel_beta"},
      {"blocks.#.context.value.projection.*", "blocks.#.attn.v_featurizer.linear.*"},
      {"blocks.#.context.value.mix", "blocks.#.attn.v_featurizer.coef"},
      {"blocks.#.context.value.log_scale", "blocks.#.attn.value_beta"},
      {"blocks.#.context.output.*", "blocks.#.attn.c_proj.*"},
      {"blocks.#.persistent_norm.*", "blocks.#.ln2.*"},
      {"blocks.#.persistent.key.projection.*", "blocks.#.pmem.k_featurizer.conv.*", kConvolution},
      {"blocks.#.persistent.key.leak", "blocks.#.pmem.leaky_key_beta"},
      {"blocks.#.persistent.key.log_scale", "blocks.#.pmem.kernel_beta"},
      {"blocks.#.persistent.slot_keys", "blocks.#.pmem.pmem.M_k@", kSlotsApart},
      {"blocks.#.persistent.slot_values", "blocks.#.pmem.pmem.M_v@", kSlotsApart},
      {"blocks.#.persistent.log_scale", "blocks.#.pmem.value_beta"},
      {"blocks.#.persistent.output.*", "blocks.#.pmem.c_proj.*"},
      {"norm.*", "ln_out.*"},
  };
}

/// The names of the variant with the fused scan: some of its own, for the others those of the
/// library.
std::vector<NameRow> fused_names() {
  std::vector<NameRow> names = {
      {"blocks.#.context.key.projection.*", "blocks.#.attn.leaky_average.linear.*"},
      {"blocks.#.context.key.leak", "blocks.#.attn.leaky_average.leaky_beta_w_under"},
      {"blocks.#.context.key.leak", "blocks.#.attn.leaky_average.leaky_beta_u_under", kSame,
       /*repeats_other=*/true},
      {"blocks.#.persistent.key.projection.*", "blocks.#.pmem.leaky_average.linear.*"},
      {"blocks.#.persistent.key.leak", "blocks.#.pmem.leaky_average.leaky_beta_w_under"},
      {"blocks.#.persistent.key.leak", "blocks.#.pmem.leaky_average.leaky_beta_u_under", kSame,
       /*repeats_other=*/true},
  };
  const size_t own = names.size();
  for (const auto& row : library_names())
    if (std::none_of(names.begin(), names.begin() + own,
                     [&](const NameRow& other) { return other.own == row.own; }))
      names.push_back(row);
  return names;
}

}  // namespace

ModelKind memory_mosaic_kind() {
  WeightFormat nano;
  nano.name = "nanomosaics";
  nano.names = nano_mosaic_names();
  nano.buffers = {"mosaic.h.#.attn.bias", "mosaic.h.#.attn.k_featurizer.leaky_avg.coef",
                  "mosaic.h.#.mlp.k_featurizer.leaky_avg.coef"};
  nano.implied = {{"parameterisation", R"("nano")"}};
  nano.hyper_parameters = mosaic_hyper_parameters;
  nano.metadata = mosaic_metadata;

  WeightFormat library;  // the one behind the experiments of Zhang et al. 2024
  library.name = "memory-mosaics";
  library.names = library_names();
  library.implied = {{"parameterisation", R"("paper")"}};
  library.hyper_parameters = mosaic_hyper_parameters;
  library.metadata = mosaic_metadata;

  WeightFormat fused = library;
  fused.name = "memory-mosaics-eft";
  fused.names = fused_names();
  fused.variant_of = library.name;
  fused.recognised_by = "blocks.0.attn.leaky_average.linear.weight";
  return model_kind_of<MemoryMosaic>("network of associative memories (Zhang et al. 2024)",
                                     {nano, library, fused});
}

}  // namespace tessera
