#pragma once

#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "tessera/memory/relational/two_memory_cell.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/sequence_model.h"

namespace tessera {

/// The defaults are the sizes of Le et al. 2020 for bAbI; the paper's code gives the hidden widths.
struct QuestionAnswererConfig {
  int64_t vocabulary = 179;
  int64_t words = 12;
  int64_t channels = 64;
  int64_t slots = 20;
  int64_t width = 90;
  int64_t hidden = 80;
  double first_words = 0.1;
  double first_positions = 1.0 / 12;
  double position_spread = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vocabulary", vocabulary, "number of words, with padding, which is word 0", kSizes);
    field("words", words, "words of a sentence; shorter sentences are padded", kSizes);
    field("channels", channels, "width of an embedded word, sentence or question", kSizes);
    field("slots", slots, "queries, keys and values; matrices of the relational memory (n_q)",
          kSizes);
    field("width", width, "the memories hold matrices of width x width (d)", kSizes);
    field("hidden", hidden, "width of the hidden layers of input maps and inference", kSizes);
    field("first_words", first_words,
          "embedded words begin as random numbers between this and its negative",
          config::at_least(0));
    field("first_positions", first_positions, "initial weight of each place in a sentence",
          config::at_least(0));
    field("position_spread", position_spread,
          "initial weights are drawn at most this far from first_positions; with 0 a "
          "sentence begins as a bag of words",
          config::at_least(0));
  }

  /// Throws UsageError that names the field and what it may be.
  void check() const;
  TwoMemoryOptions cell_options() const;
};

/// Answers questions from a relational memory R by three reads, of which each begins with what the
/// last one found (Schlag & Schmidhuber 2018, section 2.2; Le et al. 2020, appendix J):
///     e, r1, r2, r3 = MLPs of the question, two maps each with tanh after both
///     i1 = LN(R(r1, e))   i2 = LN(R(r2, i1))   i3 = LN(R(r3, i2))   answer = Z (i1 + i2 + i3)
/// where R(r, e)[b] = Σ_s Σ_a r[s] e[a] R[s, a, b] reads by the query-key side.
/// Differs from the reference code of Le et al. 2020, which reads Z.data, so that Z stays as it was
/// drawn: here Z is learned, as in Schlag & Schmidhuber 2018. A second e and a second Z, which the
/// code draws and never uses, are left out.
class RelationalInferenceImpl : public torch::nn::Module {
 public:
  /// With E = config.channels, N = config.slots, D = config.width and V = config.vocabulary.
  RelationalInferenceImpl(const QuestionAnswererConfig& config, at::Device device);

  /// Reads by slots [B, C, N] and patterns [B, C, D]: [B, C, D].
  using Read = std::function<at::Tensor(const at::Tensor& slots, const at::Tensor& patterns)>;
  /// questions [B, C, E] -> one logit for each answer, [B, C, V].
  at::Tensor forward(const at::Tensor& questions, const Read& read);

  torch::nn::Sequential entity;         ///< e
  torch::nn::ModuleList relations;      ///< r1, r2, r3
  at::Tensor norm_weight, norm_bias;    ///< [3, D]
  torch::nn::Linear answers = nullptr;  ///< Z [V, D]
};
TORCH_MODULE(RelationalInference);

/// The two-memory model for question answering (Le et al. 2020, section 3.5 and appendix J). A
/// sentence is the sum of its embedded words, each weighted channel by channel by a learned vector
/// for its position (Schlag & Schmidhuber 2018). Sentences are the steps of a TwoMemoryCell, whose
/// α1 is 1 and whose α3 is 0; a RelationalInference answers from its relational memory.
///
/// As a SequenceModel it reads sentences, ids of words [B, T, W]; output t is the answer to
/// sentence t taken as a question about the sentences before it, [B, T, V]. Its state is a
/// TwoMemoryState. It has no dropout.
class QuestionAnswerer : public SequenceModel {
 public:
  static constexpr std::string_view kKind = "question_answerer";
  using Config = QuestionAnswererConfig;
  static constexpr int64_t kPadding = 0;

  /// As ModelKind::make.
  explicit QuestionAnswerer(const QuestionAnswererConfig& config, std::optional<uint64_t> seed = 0,
                            at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  config::Json hyper_parameters() const override { return config::to_json(config_); }
  const QuestionAnswererConfig& configuration() const { return config_; }

  /// Sentences [B, T, W] and C questions about each row, [B, C, W], all ids of words. Question c of
  /// row b is about the first after[b, c] sentences, 0 to T (after [B, C] int64). Logits over the
  /// words, [B, C, V], with gradients. Throws UsageError where anything does not fit.
  at::Tensor answer(const at::Tensor& sentences, const at::Tensor& questions,
                    const at::Tensor& after);

  at::Tensor forward(const at::Tensor& sentences, std::optional<uint64_t> dropout_seed = {},
                     int64_t first_output = 0) override;
  SequenceState empty_state() const override;
  SequenceOutput read(const at::Tensor& sentences, SequenceState&& state,
                      int64_t first_output = 0) override;
  SequenceState state_from(const TensorFile& file, const SequenceState& empty) const override;
  void initialise(uint64_t seed) override;

  at::Tensor embedding;  ///< [V, E]; the row of padding is never read
  at::Tensor positions;  ///< weights of a sentence's words by their place, [W, E]
  TwoMemoryCell cell = nullptr;
  RelationalInference inference = nullptr;

 private:
  at::Tensor encode(const at::Tensor& sentences, std::string_view what) const;
  ops::Associations everything_written(const at::Tensor& x);

  QuestionAnswererConfig config_;
};

}  // namespace tessera
