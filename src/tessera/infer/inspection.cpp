#include "tessera/infer/inspection.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/model/block_network.h"
#include "tessera/model/language_model.h"
#include "tessera/ops/weights.h"

namespace tessera {
namespace {

using config::Json;

TracedModel& traced(LanguageModel& model) {
  if (auto* result = dynamic_cast<TracedModel*>(&model)) return *result;
  throw UsageError("a model of kind '{}' stores no pairs that could be inspected", model.kind());
}

/// What each value of a reading [H, N] added along a direction [C] of the residual stream.
at::Tensor logits_of(const TracedReading& reading, const at::Tensor& direction) {
  const at::Tensor values = reading.values[0].to(at::kDouble);  // [H, N, D]
  const int64_t H = values.size(0), D = values.size(2);
  const at::Tensor output = ops::as_floats(reading.output, H * D).to(at::kDouble);
  const at::Tensor of_heads = direction.matmul(output).view({H, D, 1});
  return reading.weights[0].to(at::kDouble) * values.matmul(of_heads).squeeze(2);
}

/// The pairs of the largest weights. weights, logits [N], double; pair i belongs to the token at
/// first + i.
std::vector<MemoryShare> largest_shares(const at::Tensor& weights, const at::Tensor& logits,
                                        int64_t first, int64_t count) {
  const auto [largest, index] = weights.topk(std::min(count, weights.size(0)));
  std::vector<MemoryShare> shares;
  for (int64_t rank = 0; rank < largest.size(0); ++rank) {
    const int64_t pair = index[rank].item<int64_t>();
    shares.push_back({first + pair, largest[rank].item<double>(), logits[pair].item<double>()});
  }
  return shares;
}

/// The slots that added most or took most.
std::vector<SlotShare> loudest_slots(const TracedReading& reading, const at::Tensor& direction,
                                     int64_t count) {
  const at::Tensor logits = logits_of(reading, direction).flatten();           // [H N]
  const at::Tensor weights = reading.weights[0].to(at::kDouble).contiguous();  // [H, N]
  const int64_t N = weights.size(1);
  const at::Tensor index = std::get<1>(logits.abs().topk(std::min(count, logits.size(0))));
  std::vector<SlotShare> shares;
  for (int64_t rank = 0; rank < index.size(0); ++rank) {
    const int64_t i = index[rank].item<int64_t>();
    shares.push_back(
        {i / N, i % N, weights[i / N][i % N].item<double>(), logits[i].item<double>()});
  }
  return shares;
}

/// direction [C]: of the logit in the residual stream. The trace is that of one sequence, whose
/// first token is at `first`.
BlockInspection inspect_block(const BlockTrace& block, const at::Tensor& direction, int64_t first,
                              const InspectionOptions& options) {
  BlockInspection result;
  for (const TracedReading& reading : block.pairs) {
    const at::Tensor weights = reading.weights[0].to(at::kDouble);  // [H, N]
    const at::Tensor logits = logits_of(reading, direction);
    for (int64_t head = 0; head < weights.size(0); ++head)
      result.heads.push_back({reading.tier, logits[head].sum().item<double>(),
                              largest_shares(weights[head], logits[head],
                                             first + reading.first_pair, options.memories)});
  }
  result.unit = block.unit;
  result.unit_logit = block.unit_output[0].to(at::kDouble).dot(direction).item<double>();
  if (block.slots) result.slots = loudest_slots(*block.slots, direction, options.memories);
  return result;
}

Json token_json(int64_t token, const Tokenizer& tokenizer) {
  return {{"id", token}, {"text", shown_token(tokenizer, token)}};
}

Json json_of(const HeadInspection& head) {
  Json memories = Json::array();
  for (const auto& [position, weight, logit] : head.memories)
    memories.push_back({{"position", position}, {"weight", weight}, {"logit", logit}});
  Json json;
  if (head.tier != MemoryTier::kOnly) json["tier"] = config::enum_name(head.tier);
  json["logit"] = head.logit;
  json["memories"] = std::move(memories);
  return json;
}

Json json_of(const std::vector<SlotShare>& slots) {
  Json list = Json::array();
  for (const auto& [head, slot, weight, logit] : slots)
    list.push_back({{"head", head}, {"slot", slot}, {"weight", weight}, {"logit", logit}});
  return list;
}

}  // namespace

double Inspection::sum() const {
  double sum = embedding + biases;
  for (const BlockInspection& block : blocks) {
    for (const HeadInspection& head : block.heads) sum += head.logit;
    sum += block.unit_logit;
  }
  return sum;
}

Inspection inspect(LanguageModel& model, const Tokens& text, int64_t position,
                   const InspectionOptions& options) {
  const int64_t length = std::ssize(text), V = model.vocabulary();
  if (position < 0 || position >= length)
    throw UsageError("position {} is not in the text, which has {} tokens", position, length);
  if (options.token && (*options.token < 0 || *options.token >= V))
    throw UsageError("token {} is not one of the model's {}", *options.token, V);
  config::check_demands(options, "inspect");
  TracedModel& source = traced(model);
  const at::NoGradGuard no_grad;  // as the model writes: gradients need other arithmetic

  const int64_t most = model.reads_past_window() ? length : model.window();
  const int64_t first = std::max<int64_t>(0, position + 1 - most);
  const Tokens read(text.begin() + first, text.begin() + position + 1);
  const at::Tensor tokens = at::tensor(read, at::kLong).unsqueeze(0);

  const at::Tensor last_hidden = model.hidden(tokens).select(1, tokens.size(1) - 1);  // [1, C]
  const at::Tensor logits =
      model.logits(last_hidden)[0].to(at::kCPU, at::kFloat).contiguous();  // [V]
  const TokenDistribution next({logits.data_ptr<float>(), static_cast<size_t>(V)});
  Inspection result;
  result.position = position;
  result.token = options.token           ? *options.token
                 : position + 1 < length ? text[position + 1]
                                         : next.most_probable();
  result.log_probability = next.log_probability(result.token);
  result.logit = logits[result.token].item<double>();
  result.alternatives = next.most_probable(std::min(options.alternatives, V));

  const ResidualTrace trace = source.trace(tokens);
  const LogitDirection line =
      source.logit_direction(trace.residual, at::tensor({result.token}, at::kLong));
  const at::Tensor direction = line.direction[0];  // [C]
  const auto along = [&](const at::Tensor& part) {
    return part.to(at::kDouble).dot(direction).item<double>();
  };
  result.embedding = along(trace.embedded[0]);
  result.biases = line.offset.item<double>();
  for (const BlockTrace& block : trace.blocks) {
    for (const TracedReading& reading : block.pairs)
      if (reading.output_bias.defined()) result.biases += along(reading.output_bias);
    result.blocks.push_back(inspect_block(block, direction, first, options));
  }
  return result;
}

Json json_of(const Inspection& inspection, const Tokenizer& tokenizer) {
  Json layers = Json::array(), alternatives = Json::array();
  for (const BlockInspection& block : inspection.blocks) {
    Json heads = Json::array();
    for (const HeadInspection& head : block.heads) heads.push_back(json_of(head));
    layers.push_back({{"heads", std::move(heads)},
                      {std::string(config::enum_name(block.unit)), block.unit_logit}});
    if (block.slots) layers.back()["slots"] = json_of(*block.slots);
  }
  for (const TokenChoice& choice : inspection.alternatives) {
    alternatives.push_back(token_json(choice.token, tokenizer));
    alternatives.back()["log_probability"] = choice.log_probability;
  }
  return {{"position", inspection.position},   {"token", token_json(inspection.token, tokenizer)},
          {"logit", inspection.logit},         {"log_probability", inspection.log_probability},
          {"embedding", inspection.embedding}, {"biases", inspection.biases},
          {"layers", std::move(layers)},       {"alternatives", std::move(alternatives)}};
}

Json json_of(const Tokens& text, const Tokenizer& tokenizer) {
  Json tokens = Json::array();
  for (const int64_t token : text) tokens.push_back(token_json(token, tokenizer));
  return tokens;
}

}  // namespace tessera
