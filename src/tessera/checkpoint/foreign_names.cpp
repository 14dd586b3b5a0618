#include "tessera/checkpoint/foreign_names.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>

namespace tessera {
namespace {

/// One row of a table of names. '#' stands for the layer, '*' for "weight" or "bias", '@' for the
/// number of a persistent memory.
struct NameRow {
  std::string_view own;
  std::string_view foreign;
  TensorForm form = TensorForm::kSame;
  bool repeats_other = false;
};

using enum TensorForm;

constexpr NameRow kNanoMosaics[] = {
    {"embedding", "mosaic.wte.weight"},
    {"embedding", "lm_head.weight", kSame, true},
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

constexpr NameRow kMemoryMosaics[] = {
    {"embedding", "emb.weight"},
    {"embedding", "head.weight", kSame, true},
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

/// Where the variant with the fused scan differs from the table above: its rows come first.
constexpr NameRow kMemoryMosaicsEft[] = {
    {"blocks.#.context.key.projection.*", "blocks.#.attn.leaky_average.linear.*"},
    {"blocks.#.context.key.leak", "blocks.#.attn.leaky_average.leaky_beta_w_under"},
    {"blocks.#.context.key.leak", "blocks.#.attn.leaky_average.leaky_beta_u_under", kSame, true},
    {"blocks.#.persistent.key.projection.*", "blocks.#.pmem.leaky_average.linear.*"},
    {"blocks.#.persistent.key.leak", "blocks.#.pmem.leaky_average.leaky_beta_w_under"},
    {"blocks.#.persistent.key.leak", "blocks.#.pmem.leaky_average.leaky_beta_u_under", kSame, true},
};

constexpr NameRow kNanoGpt[] = {
    {"embedding", "transformer.wte.weight"},
    {"embedding", "lm_head.weight", kSame, true},
    {"position_embedding", "transformer.wpe.weight"},
    {"blocks.#.attention_norm.*", "transformer.h.#.ln_1.*"},
    {"blocks.#.query_key_value.*", "transformer.h.#.attn.c_attn.*"},
    {"blocks.#.attention_output.*", "transformer.h.#.attn.c_proj.*"},
    {"blocks.#.feed_forward_norm.*", "transformer.h.#.ln_2.*"},
    {"blocks.#.expand.*", "transformer.h.#.mlp.c_fc.*"},
    {"blocks.#.contract.*", "transformer.h.#.mlp.c_proj.*"},
    {"norm.*", "transformer.ln_f.*"},
};

constexpr NameRow kGpt2[] = {
    {"embedding", "wte.weight"},
    {"embedding", "lm_head.weight", kSame, true},
    {"position_embedding", "wpe.weight"},
    {"blocks.#.attention_norm.*", "h.#.ln_1.*"},
    {"blocks.#.query_key_value.*", "h.#.attn.c_attn.*", kTransposed},
    {"blocks.#.attention_output.*", "h.#.attn.c_proj.*", kTransposed},
    {"blocks.#.feed_forward_norm.*", "h.#.ln_2.*"},
    {"blocks.#.expand.*", "h.#.mlp.c_fc.*", kTransposed},
    {"blocks.#.contract.*", "h.#.mlp.c_proj.*", kTransposed},
    {"norm.*", "ln_f.*"},
};

constexpr std::string_view kBuffers[][3] = {
    {"mosaic.h.#.attn.bias", "mosaic.h.#.attn.k_featurizer.leaky_avg.coef",
     "mosaic.h.#.mlp.k_featurizer.leaky_avg.coef"},
    {},
    {},
    {"transformer.h.#.attn.bias", "transformer.h.#.attn.masked_bias"},
    {"h.#.attn.bias", "h.#.attn.masked_bias"},
};

/// What the wildcards of a pattern stand for in a name.
struct Match {
  std::string layer, last;
};

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::optional<Match> match(std::string_view pattern, std::string_view name) {
  Match result;
  while (true) {
    const auto part = pattern.substr(0, pattern.find('.'));
    const auto word = name.substr(0, name.find('.'));
    if (part == "#" && all_digits(word))
      result.layer = word;
    else if (part == "*" && (word == "weight" || word == "bias"))
      result.last = word;
    else if (part != word)
      return {};
    const bool pattern_ends = part.size() == pattern.size();
    if (pattern_ends != (word.size() == name.size())) return {};
    if (pattern_ends) return result;
    pattern.remove_prefix(part.size() + 1);
    name.remove_prefix(word.size() + 1);
  }
}

std::string filled(std::string_view pattern, const Match& match, int64_t part) {
  std::string name;
  for (char c : pattern) {
    if (c == '#')
      name += match.layer;
    else if (c == '*')
      name += match.last;
    else if (c == '@')
      name += std::to_string(part);
    else
      name += c;
  }
  return name;
}

std::vector<int64_t> shape_in(TensorForm form, const std::vector<int64_t>& shape) {
  const bool matrix = shape.size() == 2;
  switch (form) {
    case kTransposed:
      return matrix ? std::vector<int64_t>{shape[1], shape[0]} : shape;
    case kConvolution:
      return matrix ? std::vector<int64_t>{shape[0], shape[1], 1} : shape;
    case kPerHead:
      return {1, shape[0], 1, 1};
    case kSlots:
      return {shape[0], 1, shape[1], shape[2], shape[3]};
    case kSlotsApart:
      return {1, shape[1], shape[2], shape[3]};
    case kSame:
      break;
  }
  return shape;
}

std::vector<ForeignTensor> matches(std::span<const NameRow> table, const std::string& own_name,
                                   const std::vector<int64_t>& shape) {
  std::vector<ForeignTensor> result;
  for (const auto& row : table) {
    const auto found = match(row.own, own_name);
    if (!found) continue;
    const int64_t parts = row.form == kSlotsApart ? shape[0] : 1;
    for (int64_t part = 0; part < parts; ++part)
      result.push_back({filled(row.foreign, *found, part), shape_in(row.form, shape), row.form,
                        part, row.repeats_other});
  }
  return result;
}

}  // namespace

std::vector<ForeignTensor> foreign_tensors(ForeignKind kind, const std::string& own_name,
                                           const std::vector<int64_t>& shape) {
  switch (kind) {
    case ForeignKind::kNanoMosaics:
      return matches(kNanoMosaics, own_name, shape);
    case ForeignKind::kNanoGpt:
      return matches(kNanoGpt, own_name, shape);
    case ForeignKind::kGpt2:
      return matches(kGpt2, own_name, shape);
    case ForeignKind::kMemoryMosaicsEft:
      if (auto own = matches(kMemoryMosaicsEft, own_name, shape); !own.empty()) return own;
      break;
    case ForeignKind::kMemoryMosaics:
      break;
  }
  return matches(kMemoryMosaics, own_name, shape);
}

bool is_buffer(ForeignKind kind, std::string_view name) {
  return std::any_of(std::begin(kBuffers[static_cast<size_t>(kind)]),
                     std::end(kBuffers[static_cast<size_t>(kind)]), [&](std::string_view pattern) {
                       return !pattern.empty() && match(pattern, name).has_value();
                     });
}

at::Tensor to_form(const at::Tensor& own, const ForeignTensor& foreign) {
  if (foreign.form == kTransposed && own.dim() == 2) return own.t().contiguous();
  const at::Tensor part = foreign.form == kSlotsApart ? own[foreign.part] : own;
  return part.reshape(foreign.shape);
}

void copy_from_form(const at::Tensor& foreign_values, const ForeignTensor& foreign,
                    const at::Tensor& destination) {
  at::NoGradGuard no_grad;
  const at::Tensor part =
      foreign.form == kSlotsApart ? destination[foreign.part] : at::Tensor(destination);
  if (foreign.form == kTransposed && destination.dim() == 2)
    part.copy_(foreign_values.t());
  else
    part.copy_(foreign_values.view(part.sizes()));
}

}  // namespace tessera
