#include "tessera/infer/inspection.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tessera/base/checksum.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/model/language_model.h"
#include "tessera/model/memory_mosaic.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {
namespace {

constexpr const char* kSlotsFormat = "tessera-slots-1";
constexpr int64_t kReaders = 10;  // kept of each slot
constexpr int64_t kBefore = 6;    // tokens kept before a reader
constexpr int64_t kContext = 8;   // these, the reader and the next
constexpr int64_t kMostTokens = 200'000;

/// Blocks, heads of a block, and slots of a head.
struct SlotSizes {
  int64_t L, H, M;

  explicit SlotSizes(const MemoryMosaicConfig& config)
      : L(config.layers), H(config.heads), M(config.slots() * config.persistent_count) {}
};

/// The readers of the slots of one block so far, largest weight first: weights and positions in
/// the text, [H M, kReaders].
struct LargestWeights {
  at::Tensor weights, positions;

  explicit LargestWeights(int64_t slots)
      : weights(at::full({slots, kReaders}, -1.0f)),
        positions(at::full({slots, kReaders}, -1, at::kLong)) {}

  /// read [T, H M]: how tokens from `first` on read the slots.
  void add(const at::Tensor& read, int64_t first) {
    const auto [largest, step] =
        read.t().contiguous().topk(std::min(kReaders, read.size(0)), /*dim=*/1);
    const at::Tensor all = at::cat({weights, largest}, 1);
    const at::Tensor places = at::cat({positions, step + first}, 1);
    at::Tensor kept;
    std::tie(weights, kept) = all.topk(kReaders, 1);
    positions = places.gather(1, kept);
  }
};

/// A reader at `position` with its neighbours in its window.
std::array<int32_t, kContext> context_of(const Tokens& text, int64_t position, int64_t window) {
  std::array<int32_t, kContext> context;
  context.fill(-1);
  if (position < 0) return context;
  const int64_t first = position - position % window;
  const int64_t end = std::min<int64_t>(first + window, std::ssize(text));
  for (int64_t i = 0; i < kContext; ++i) {
    const int64_t at = position - kBefore + i;
    if (at >= first && at < end) context[i] = static_cast<int32_t>(text[at]);
  }
  return context;
}

/// Of the file with the weights.
std::string weights_checksum(const std::filesystem::path& model_folder) {
  return checksum(MappedFile(model_folder / "model.safetensors").text());
}

}  // namespace

SlotReaders SlotReaders::measure(LanguageModel& model, const Tokens& text,
                                 const OnProgress& on_progress) {
  auto* source = dynamic_cast<MemoryMosaic*>(&model);
  check_argument(source, "a model of kind '{}' has no learned slots", model.kind());
  check_argument(!text.empty(), "the text has no tokens that could read a slot");
  const auto [L, H, M] = SlotSizes(source->configuration());
  const int64_t window = model.window();
  const int64_t length = std::ssize(text), windows = (length + window - 1) / window;
  const int64_t apart = (length + kMostTokens - 1) / kMostTokens;  // windows from one to the next
  std::vector<LargestWeights> blocks;
  for (int64_t layer = 0; layer < L; ++layer) blocks.emplace_back(H * M);
  for (int64_t index = 0; index < windows; index += apart) {
    const int64_t first = index * window, count = std::min(window, length - first);
    const Tokens read(text.begin() + first, text.begin() + first + count);
    source->visit_slot_weights(
        at::tensor(read, at::kLong).unsqueeze(0), [&](int64_t layer, const at::Tensor& weights) {
          blocks[layer].add(weights[0].flatten(1).to(at::kCPU, at::kFloat), first);
        });
    if (on_progress) on_progress(std::min((index + apart) * window, length), length);
  }
  std::vector<at::Tensor> all_weights;
  std::vector<int32_t> contexts;
  for (const LargestWeights& block : blocks) {
    all_weights.push_back(block.weights.view({H, M, kReaders}));
    const int64_t* position = block.positions.data_ptr<int64_t>();
    for (int64_t i = 0; i < block.positions.numel(); ++i)
      for (const int32_t token : context_of(text, position[i], window)) contexts.push_back(token);
  }
  SlotReaders result;
  result.weights_ = at::stack(all_weights);
  result.contexts_ = at::tensor(contexts, at::kInt).view({L, H, M, kReaders, kContext});
  return result;
}

void SlotReaders::save(const std::filesystem::path& model_folder) const {
  save_tensors(model_folder / kFile, {{"weights", weights_}, {"contexts", contexts_}},
               {{"format", kSlotsFormat}, {"model", weights_checksum(model_folder)}});
}

std::shared_ptr<const SlotReaders> SlotReaders::load(const std::filesystem::path& model_folder,
                                                     LanguageModel& model) {
  const auto path = model_folder / kFile;
  const auto* source = dynamic_cast<MemoryMosaic*>(&model);
  if (!source || !std::filesystem::exists(path)) return nullptr;
  const TensorFile file = TensorFile::load(path);
  if (file.metadata_at("format") != kSlotsFormat)
    throw DataError(file.path, "is not a table of slots of this version");
  if (file.metadata_at("model") != weights_checksum(model_folder)) return nullptr;
  auto result = std::make_shared<SlotReaders>();
  const auto [L, H, M] = SlotSizes(source->configuration());
  result->weights_ = file.at("weights", {L, H, M, kReaders}, at::kFloat);
  result->contexts_ = file.at("contexts", {L, H, M, kReaders, kContext}, at::kInt);
  const at::Tensor& ids = result->contexts_;
  if (ids.numel() > 0 &&
      (ids.min().item<int>() < -1 || ids.max().item<int>() >= model.vocabulary()))
    throw DataError(file.path, "holds a token outside the model's vocabulary of {}",
                    model.vocabulary());
  return result;
}

std::vector<SlotReader> SlotReaders::of(int64_t layer, int64_t head, int64_t slot) const {
  const auto inside = [&](int64_t index, int dimension) {
    return index >= 0 && index < weights_.size(dimension);
  };
  check_argument(inside(layer, 0) && inside(head, 1) && inside(slot, 2),
                 "there is no slot {} of head {} of layer {}", slot, head, layer);
  const at::Tensor weights = weights_[layer][head][slot], contexts = contexts_[layer][head][slot];
  std::vector<SlotReader> readers;
  for (int64_t rank = 0; rank < kReaders; ++rank) {
    const int32_t* context = contexts[rank].data_ptr<int32_t>();
    if (context[kBefore] < 0) continue;
    SlotReader reader{weights[rank].item<double>(), {}, context[kBefore], {}};
    std::copy_if(context, context + kBefore, std::back_inserter(reader.before),
                 [](int32_t token) { return token >= 0; });
    if (context[kBefore + 1] >= 0) reader.next = context[kBefore + 1];
    readers.push_back(std::move(reader));
  }
  return readers;
}

nlohmann::ordered_json slot_readers_json(const SlotReaders& readers,
                                         std::span<const Inspection> inspections,
                                         const Tokenizer& tokenizer, size_t most) {
  config::Json all = config::Json::object();
  for (const Inspection& inspection : inspections)
    for (size_t layer = 0; layer < inspection.blocks.size(); ++layer)
      for (const SlotShare& share :
           inspection.blocks[layer].slots.value_or(std::vector<SlotShare>())) {
        config::Json& list = all[fmt::format("{}.{}.{}", layer, share.head, share.slot)];
        if (!list.is_null()) continue;  // another token has read it, too
        list = config::Json::array();
        auto found = readers.of(layer, share.head, share.slot);
        found.resize(std::min(found.size(), most));
        for (const SlotReader& reader : found) {
          config::Json before = config::Json::array();
          for (const int64_t token : reader.before) before.push_back(shown_token(tokenizer, token));
          list.push_back({{"weight", reader.weight},
                          {"before", std::move(before)},
                          {"token", shown_token(tokenizer, reader.token)}});
          if (reader.next) list.back()["next"] = shown_token(tokenizer, *reader.next);
        }
      }
  return all;
}

}  // namespace tessera
