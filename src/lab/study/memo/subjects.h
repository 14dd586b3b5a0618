#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/data/token_memory.h"
#include "tessera/model/language_model.h"
#include "tessera/store/memo_store.h"

/// Who is asked in the study of unlearning, and how networks learn the answers.
namespace tessera::memo_study {

using Tokens = std::vector<int64_t>;

/// A question and an answer to it.
struct Line {
  Tokens prompt, answer;
};

/// What somebody makes of an answer, token by token.
struct AnswerScore {
  std::vector<double> log_probabilities;  ///< nats
  std::vector<bool> predicted;            ///< whether the token was the most probable one

  double probability() const;          ///< of the answer, to the power of 1 / its tokens
  double right() const;                ///< share of the tokens predicted
  double extraction_strength() const;  ///< 1 - k / n: the last n - k of n tokens are predicted
};

/// Somebody who is asked.
class Subject {
 public:
  virtual ~Subject() = default;
  /// Logits [n, V] of the n tokens of the line's answer, each after what stands before it.
  virtual at::Tensor predict(const Line& line) = 0;

  std::vector<AnswerScore> scores(const std::vector<Line>& lines);
  /// The most probable token each time, as many as the line's answer has.
  std::vector<Tokens> say(const std::vector<Line>& lines);
};

/// The model and the stores must outlive them.
std::unique_ptr<Subject> network_subject(std::shared_ptr<LanguageModel> model);
std::unique_ptr<Subject> store_subject(const store::MemoStore& store);
std::unique_ptr<Subject> beside_memory(std::shared_ptr<LanguageModel> model,
                                       const TokenMemory& memory);

struct NetworkSettings {
  int64_t layers = 2;
  int64_t heads = 4;
  int64_t channels = 128;
  int64_t epochs = 20;
  int64_t batch = 32;
  double rate = 2e-3;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("layers", layers, "blocks");
    field("heads", heads, "attention heads, or memories of a unit");
    field("channels", channels, "width");
    field("epochs", epochs, "passes over the answers that are learnt");
    field("batch", batch, "lines of an update");
    field("rate", rate, "step size");
  }
};

/// kind: "gpt" or "memory_mosaic".
std::shared_ptr<LanguageModel> new_network(const std::string& kind, const NetworkSettings& settings,
                                           int64_t vocabulary, uint64_t seed);
/// Another with the same parameters.
std::shared_ptr<LanguageModel> copy_of(const LanguageModel& model, const NetworkSettings& settings,
                                       int64_t vocabulary);

/// Nats of the answers' tokens: the mean of all, and the sum of each line's [n].
at::Tensor mean_loss(LanguageModel& model, const std::vector<Line>& lines);
at::Tensor line_losses(LanguageModel& model, const std::vector<Line>& lines);

/// Passes over the lines in batches, in an order by the seed, each an update of AdamW.
void learn(LanguageModel& model, int64_t epochs, double rate, int64_t batch, uint64_t seed,
           const std::vector<Line>& lines,
           const std::function<at::Tensor(const std::vector<Line>&)>& loss);

}  // namespace tessera::memo_study
