#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/interrupt.h"
#include "tessera/data/tokenizer.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/model/block_network.h"
#include "tessera/sampling/sampling.h"

namespace tessera {

/// A stored pair that a head read.
struct MemoryShare {
  int64_t position;  ///< of the token, in the text, at which the pair was stored
  double weight;     ///< in the head's reading, which is a weighted mean of the stored values
  double logit;      ///< what it added to the logit in question
};

struct HeadInspection {
  MemoryTier tier = MemoryTier::kOnly;
  double logit = 0;                   ///< what its whole reading added
  std::vector<MemoryShare> memories;  ///< the pairs of the largest weights, largest first
};

/// A learned slot of a persistent memory.
struct SlotShare {
  int64_t head, slot;  ///< counted from 0, the slot within its head
  double weight;       ///< in the head's reading
  double logit;        ///< what it added to the logit in question
};

struct BlockInspection {
  std::vector<HeadInspection> heads;
  BlockUnit unit = BlockUnit::kPersistentMemory;
  double unit_logit = 0;  ///< what this unit added: of a persistent memory, the sum over its slots
                          ///< and its bias
  /// Those that added most or took most, first; none of a unit without slots.
  std::optional<std::vector<SlotShare>> slots = {};
};

/// Why a model gave a token the logit that it has. The logit is exactly
///   embedding + biases + sum over blocks of (sum over heads + unit_logit),
/// for the last norm's deviation held at its value. What a memory does to later blocks counts
/// there. A model whose weights have fewer bits rounds its products, which is in no part.
struct Inspection {
  int64_t position = 0;        ///< of the last token read; the next one is predicted
  int64_t token = 0;           ///< whose logit is explained
  double logit = 0;            ///< as the model computes it
  double log_probability = 0;  ///< nats
  double embedding = 0;        ///< added by the embedding of the last token read
  double biases = 0;
  std::vector<BlockInspection> blocks;
  std::vector<TokenChoice> alternatives;  ///< the most probable tokens there, best first

  /// embedding, biases and what the blocks added.
  double sum() const;
};

struct InspectionOptions {
  int64_t memories = 5, alternatives = 5;
  std::optional<int64_t> token = {};  ///< to be explained; none: the text's own next token or, at
                                      ///< its end, the most probable one

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("memories", memories,
          "maximum number of stored pairs to report of each head, and of learned slots of each "
          "persistent memory",
          config::between(0, 1000));
    field("alternatives", alternatives, "how many of the most probable tokens to report",
          config::between(0, 1000));
  }
};

/// Explains the prediction of the token after `position` by what the memories had stored by then.
/// A model that cannot read past its window reads the last tokens that fit. Throws UsageError on a
/// model that stores no pairs, on options outside their bounds, on a position outside the text, and
/// on a token or an id of the text outside the vocabulary.
Inspection inspect(LanguageModel& model, const Tokens& text, int64_t position,
                   const InspectionOptions& options = {});

/// {"position", "token", "logit", "log_probability", "embedding", "biases", "layers": [{"heads":
/// [{"tier" (where a layer has several memories: "short_term" or "long_term"), "logit", "memories":
/// [{"position", "weight", "logit"}]}], "persistent_memory" (of a GPT: "feed_forward"), "slots":
/// [{"head", "slot", "weight", "logit"}] (where it has such)}],
/// "alternatives": [{"id", "text", "log_probability"}]}. A token is {"id", "text"}, as
/// shown_token() shows it.
nlohmann::ordered_json json_of(const Inspection& inspection, const Tokenizer& tokenizer);
/// The tokens of the text, which positions count: [{"id", "text"}].
nlohmann::ordered_json json_of(const Tokens& text, const Tokenizer& tokenizer);

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
  static constexpr const char* kFile = "slots.safetensors";  ///< in the model's directory

  /// Reads windows of the text, each from its beginning, up to 200,000 tokens in all: of a longer
  /// text windows at equal distances. on_progress: tokens, after each window.
  /// Throws UsageError on a model without slots, on a text of no tokens and on ids outside the
  /// vocabulary.
  static SlotReaders measure(LanguageModel& model, const Tokens& text,
                             const OnProgress& on_progress = {});

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
  int64_t slots() const { return weights_.size(0) * weights_.size(1) * weights_.size(2); }

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
