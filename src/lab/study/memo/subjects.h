#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/data/token_memory.h"
#include "tessera/data/tokenizer.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/model/language_model.h"
#include "tessera/store/memo_store.h"

/// Who is asked in the study of unlearning, what is measured of the answers, and how networks learn
/// them.
namespace tessera::memo_study {

/// A question about an invented author, after TOFU (Maini et al. 2024).
struct AuthorQuestion {
  std::string question, answer;
  std::string paraphrase;          ///< the same answer in other words
  std::vector<std::string> wrong;  ///< five others, in these words

  /// As it is learned: a line.
  std::string line() const { return prompt() + " " + answer + "\n"; }
  /// What stands before the blank that begins an answer: a token has its blank before it.
  std::string prompt() const { return "Q: " + question + "\nA:"; }
};

constexpr size_t kWordings = 2;  ///< in which a fact is asked

struct InventedAuthor {
  std::string name;
  std::vector<AuthorQuestion> questions;  ///< 20: of each fact kWordings, one after the other

  /// All lines.
  std::string text() const;
};

constexpr int64_t kMostAuthors = 100'000;  // a tenth of the names that there are

/// Authors who never lived: their facts are drawn by the seed, each from a list of its own; what is
/// asked and answered follows ten patterns, each asked in two ways. count: at most kMostAuthors.
std::vector<InventedAuthor> invented_authors(int64_t count, uint64_t seed);

Tokens tokens_of(const Tokenizer& tokenizer, const std::string& text);

/// A question and an answer to it.
struct Line {
  Tokens prompt, answer;
};
using Lines = std::vector<Line>;

/// What somebody makes of an answer, token by token.
struct AnswerScore {
  std::vector<double> log_probabilities;  ///< nats
  std::vector<bool> predicted;            ///< whether the token was the most probable one

  double probability() const;          ///< of the answer, to the power of 1 / its tokens
  double right() const;                ///< share of the tokens predicted
  double extraction_strength() const;  ///< 1 - k / n: the last n - k of n tokens are predicted
};

/// Somebody who is asked: gives logits [n, V] of the n tokens of the line's answer, each after what
/// stands before it.
using Subject = std::function<at::Tensor(const Line& line)>;

/// The store and the memory must outlive them.
Subject network_subject(std::shared_ptr<LanguageModel> model);
Subject store_subject(const store::MemoStore& store);
Subject beside_memory(std::shared_ptr<LanguageModel> model, const TokenMemory& memory);

std::vector<AnswerScore> scores(const Subject& subject, const Lines& lines);
/// The most probable token each time, as many as the line's answer has.
std::vector<Tokens> said(const Subject& subject, const Lines& lines);

/// What came of asking one subject.
struct Measures {
  double utility = 0;               ///< harmonic mean over retained questions
  double verbatim = 0;              ///< ROUGE-L F1 of what it says to forgotten questions
  double exact = 0;                 ///< share of the forgotten answers' tokens that it predicts
  double extraction = 0;            ///< extraction strength of the forgotten answers
  double seconds = 0;               ///< to forget
  std::vector<double> ratios = {};  ///< truth ratios of forgotten questions

  std::vector<double> numbers() const {
    std::vector<double> all = {utility, verbatim, exact, extraction, seconds};
    all.insert(all.end(), ratios.begin(), ratios.end());
    return all;
  }
  static constexpr size_t kMeans = 5;  ///< of the numbers, before the ratios
  static Measures of_numbers(const std::vector<double>& all) {
    return {all[0], all[1], all[2], all[3], all[4], {all.begin() + kMeans, all.end()}};
  }
};

/// Some authors' questions, in tokens.
class Examination {
 public:
  /// Each fact is asked in one of its wordings, so that no two questions have the same answer.
  /// probes: most facts that are asked. The seed draws facts and wordings.
  Examination(const std::vector<InventedAuthor>& authors, size_t first, size_t end,
              const Tokenizer& tokenizer, int64_t probes, uint64_t seed);

  /// Of each question the mean over its wrong answers of P^(1/tokens), divided by that of the right
  /// one; 1 where neither has any probability.
  std::vector<double> truth_ratios(const Subject& subject) const;
  /// All measures but utility and seconds.
  void measure_forgotten(const Subject& subject, Measures& measures) const;
  /// Harmonic mean of probability, ROUGE-L recall and max(0, 1 - truth ratio).
  double utility(const Subject& subject) const;

 private:
  Lines answers_;
  Lines versions_;  // of each question the paraphrase, then the wrong ones
};

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
    field("epochs", epochs, "passes over the answers that are learned", config::at_least(0));
    field("batch", batch, "lines of an update", config::at_least(1));
    field("rate", rate, "step size");
  }
};

/// kind: "gpt" or "memory_mosaic".
std::shared_ptr<LanguageModel> new_network(const std::string& kind, const NetworkSettings& settings,
                                           int64_t vocabulary, uint64_t seed);
/// Another with the same parameters.
std::shared_ptr<LanguageModel> copy_of(const LanguageModel& model);

/// Nats of the answers' tokens: the mean of all, and the sum of each line's [n].
at::Tensor mean_loss(LanguageModel& model, const Lines& lines);
at::Tensor line_losses(LanguageModel& model, const Lines& lines);

/// Passes over the lines in batches, in an order by the seed, each an update of AdamW.
void learn(LanguageModel& model, int64_t epochs, double rate, int64_t batch, uint64_t seed,
           const Lines& lines, const std::function<at::Tensor(const Lines&)>& loss);

}  // namespace tessera::memo_study
