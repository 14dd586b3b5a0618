#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/data/tokenizer.h"
#include "tessera/infer/inspection.h"

namespace tessera {

class LanguageModel;

/// A token of a text that read a slot.
struct SlotReader {
  double weight;  ///< of the slot in the reading of its head
  Tokens before;  ///< up to six tokens before it
  int64_t token;
  std::optional<int64_t> next;  ///< none at the end of what was read
};

/// What the learned slots of a network of persistent memories speak of: for each slot the ten
/// tokens of a text that read it most. Measured once, kept beside the model as slots.safetensors.
class SlotReaders {
 public:
  using OnProgress = std::function<void(int64_t tokens, int64_t all_tokens)>;

  /// Reads windows of the text, each from its beginning, up to 200,000 tokens in all: of a longer
  /// text windows at equal distances. Throws UsageError on a model without slots, on a text
  /// of no tokens and on ids outside the vocabulary.
  static SlotReaders measure(LanguageModel& model, const Tokens& text,
                             const OnProgress& on_progress);

  /// Writes slots.safetensors into the directory of the model that was measured. Throws
  /// SystemError.
  void save(const std::filesystem::path& model_folder) const;
  /// Those saved in a model's directory. None where there is no such file, or the model's weights
  /// have changed since. Throws DataError where the file is damaged or of a model of other sizes.
  static std::shared_ptr<const SlotReaders> load(const std::filesystem::path& model_folder,
                                                 LanguageModel& model);

  /// Those of one slot, largest weight first; all counted from 0. Throws UsageError on a slot that
  /// the model does not have.
  std::vector<SlotReader> of(int64_t layer, int64_t head, int64_t slot) const;
  /// Slots of all layers and heads.
  int64_t slots() const;

 private:
  at::Tensor weights_;   // [L, H, M, 10] float, negative where there was no token
  at::Tensor contexts_;  // [L, H, M, 10, 8] int: six tokens, the reader, the next; -1 where none
};

/// Who reads the slots that these inspections name: {"LAYER.HEAD.SLOT": [{"weight", "before":
/// [TEXT, …], "token": TEXT, "next": TEXT (where there is one)}, …]}, counted from 0, texts as
/// shown_token() shows them. `most` of each slot.
nlohmann::ordered_json slot_readers_json(const SlotReaders& readers,
                                         std::span<const Inspection> inspections,
                                         const Tokenizer& tokenizer, size_t most);

}  // namespace tessera
