#include "lab/study/memo/subjects.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lab/task/sequence/draws.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/random.h"
#include "tessera/infer/memory_mixture.h"
#include "tessera/model/model_kind.h"
#include "tessera/store/recall.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/optimizer.h"

namespace tessera::memo_study {
namespace {

constexpr int64_t kWindow = 128;  // tokens
constexpr double kClip = 1;       // of the gradient's norm

Tokens joined(const Tokens& prompt, std::span<const int64_t> answer) {
  Tokens text = prompt;
  text.insert(text.end(), answer.begin(), answer.end());
  return text;
}

/// The inputs [n, T] and targets [n, T] of lines; a target of -1 does not count.
std::pair<at::Tensor, at::Tensor> inputs_of(const Lines& lines) {
  std::vector<Tokens> inputs, targets;
  for (const Line& line : lines) {
    const Tokens text = joined(line.prompt, line.answer);
    inputs.emplace_back(text.begin(), text.end() - 1);
    Tokens& next = targets.emplace_back(line.prompt.size() - 1, int64_t{-1});
    next.insert(next.end(), line.answer.begin(), line.answer.end());
  }
  at::Tensor tokens = padded(inputs), wanted = at::full_like(tokens, -1);
  for (int64_t i = 0; i < std::ssize(targets); ++i)
    wanted[i].slice(0, 0, std::ssize(targets[i])).copy_(at::tensor(targets[i], at::kLong));
  return {tokens, wanted};
}

/// Tokens in the longest common subsequence.
size_t common(const Tokens& a, const Tokens& b) {
  std::vector<size_t> row(b.size() + 1);
  for (const int64_t token : a) {
    size_t diagonal = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = token == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

Tokens tokens_of(const Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.encode(text);
  return {ids.begin(), ids.end()};
}

double AnswerScore::probability() const {
  const double sum = std::accumulate(log_probabilities.begin(), log_probabilities.end(), 0.0);
  return std::exp(sum / static_cast<double>(log_probabilities.size()));
}

double AnswerScore::right() const {
  return static_cast<double>(std::ranges::count(predicted, true)) /
         static_cast<double>(predicted.size());
}

double AnswerScore::extraction_strength() const {
  const auto wrong = std::find(predicted.rbegin(), predicted.rend(), false);
  return static_cast<double>(wrong - predicted.rbegin()) / static_cast<double>(predicted.size());
}

namespace {

/// Of each token of a text from `first` on, after those before it.
at::Tensor logits_from(LanguageModel& model, const Tokens& text, int64_t first) {
  const at::NoGradGuard none;
  return model.logits(model.hidden(padded({text}))[0].slice(0, first - 1, -1));
}

}  // namespace

Subject network_subject(std::shared_ptr<LanguageModel> model) {
  return [model = std::move(model)](const Line& line) {
    return logits_from(*model, joined(line.prompt, line.answer), std::ssize(line.prompt));
  };
}

Subject store_subject(const store::MemoStore& store) {
  return [reader = store::StoreReader(store)](const Line& line) {
    const Tokens text = joined(line.prompt, line.answer);
    std::vector<std::span<const int64_t>> before;
    for (size_t i = 0; i < line.answer.size(); ++i)
      before.push_back(std::span(text).first(line.prompt.size() + i));
    std::vector<at::Tensor> rows;
    for (const auto& prediction : reader.predict(before))
      rows.push_back(at::tensor(prediction.logits));
    return at::stack(rows);
  };
}

Subject beside_memory(std::shared_ptr<LanguageModel> model, const TokenMemory& memory) {
  return [model = std::move(model), &memory](const Line& line) {
    const Tokens text = joined(line.prompt, line.answer);
    const at::Tensor logits = logits_from(*model, text, 1).contiguous();
    const size_t V = logits.size(1), prompt = line.prompt.size();
    MemoryMixture mixture(memory);
    mixture.append(text[0]);
    for (size_t t = 1; t < text.size(); ++t) {
      const std::span<float> row(logits.data_ptr<float>() + (t - 1) * V, V);
      mixture.predict(row);
      if (t >= prompt) mixture.mix(row);
      mixture.append(text[t]);
    }
    return logits.slice(0, std::ssize(line.prompt) - 1);
  };
}

std::vector<AnswerScore> scores(const Subject& subject, const Lines& lines) {
  std::vector<AnswerScore> result;
  for (const Line& line : lines) {
    InterruptGuard::stop_if_interrupted("stopped while asking");
    const at::Tensor distributions = at::log_softmax(subject(line).to(at::kDouble), 1);
    AnswerScore& score = result.emplace_back();
    for (int64_t i = 0; i < std::ssize(line.answer); ++i) {
      const int64_t token = line.answer[i];
      score.log_probabilities.push_back(distributions[i][token].item<double>());
      score.predicted.push_back(distributions[i].argmax().item<int64_t>() == token);
    }
  }
  return result;
}

std::vector<Tokens> said(const Subject& subject, const Lines& lines) {
  std::vector<Tokens> result;
  for (const Line& line : lines) {
    InterruptGuard::stop_if_interrupted("stopped while asking");
    Tokens& answer = result.emplace_back();
    while (answer.size() < line.answer.size()) {
      constexpr int64_t kAny = 0;  // the token that is asked for
      const at::Tensor next = subject({joined(line.prompt, answer), {kAny}})[0];
      answer.push_back(next.argmax().item<int64_t>());
    }
  }
  return result;
}

Examination::Examination(const std::vector<InventedAuthor>& authors, size_t first, size_t end,
                         const Tokenizer& tokenizer, int64_t probes, uint64_t seed) {
  RandomStream random(seed);
  std::vector<const AuthorQuestion*> all;  // one of each fact
  for (size_t a = first; a < end; ++a)
    for (size_t i = 0; i < authors[a].questions.size(); i += kWordings)
      all.push_back(&authors[a].questions[i + random.below(kWordings)]);
  const int64_t facts = std::ssize(all);
  for (const int64_t fact : task::draw_distinct(random, facts, std::min(facts, probes))) {
    const AuthorQuestion& question = *all[fact];
    const auto add = [&, prompt = tokens_of(tokenizer, question.prompt())](
                         Lines& lines, const std::string& text) {
      lines.push_back({prompt, tokens_of(tokenizer, " " + text)});
    };
    add(answers_, question.answer);
    add(versions_, question.paraphrase);
    for (const std::string& wrong : question.wrong) add(versions_, wrong);
  }
}

std::vector<double> Examination::truth_ratios(const Subject& subject) const {
  const auto of_versions = scores(subject, versions_);
  const size_t versions = versions_.size() / answers_.size();
  std::vector<double> ratios;
  for (size_t i = 0; i < of_versions.size(); i += versions) {
    double wrong = 0;
    for (size_t v = 1; v < versions; ++v) wrong += of_versions[i + v].probability();
    const double ratio = wrong / static_cast<double>(versions - 1) / of_versions[i].probability();
    ratios.push_back(std::isnan(ratio) ? 1 : ratio);
  }
  return ratios;
}

void Examination::measure_forgotten(const Subject& subject, Measures& measures) const {
  measures.ratios = truth_ratios(subject);
  const auto found = scores(subject, answers_);
  const auto texts = said(subject, answers_);
  const double count = answers_.size();
  for (size_t i = 0; i < answers_.size(); ++i) {
    measures.exact += found[i].right() / count;
    measures.extraction += found[i].extraction_strength() / count;
    const double both = common(texts[i], answers_[i].answer);
    measures.verbatim +=
        2 * both / static_cast<double>(texts[i].size() + answers_[i].answer.size()) / count;
  }
}

double Examination::utility(const Subject& subject) const {
  std::vector<double> parts(3);
  const auto found = scores(subject, answers_);
  const auto texts = said(subject, answers_);
  for (size_t i = 0; i < answers_.size(); ++i) {
    parts[0] += found[i].probability();
    parts[1] += static_cast<double>(common(texts[i], answers_[i].answer)) /
                static_cast<double>(answers_[i].answer.size());
  }
  for (const double ratio : truth_ratios(subject)) parts[2] += std::max(0.0, 1 - ratio);
  double inverse = 0;
  for (const double part : parts) inverse += static_cast<double>(answers_.size()) / part;
  return 3 / inverse;
}

std::shared_ptr<LanguageModel> new_network(const std::string& kind, const NetworkSettings& settings,
                                           int64_t vocabulary, uint64_t seed) {
  return make_language_model(kind,
                             {{"vocabulary", vocabulary},
                              {"window", kWindow},
                              {"layers", settings.layers},
                              {"heads", settings.heads},
                              {"channels", settings.channels},
                              {"dropout", 0}},
                             seed);
}

std::shared_ptr<LanguageModel> copy_of(const LanguageModel& model) {
  auto copy = make_language_model(model.kind(), model.hyper_parameters());
  const at::NoGradGuard none;
  const auto from = model.parameters(), to = copy->parameters();
  for (size_t i = 0; i < to.size(); ++i) at::Tensor(to[i]).copy_(from[i]);
  return copy;
}

at::Tensor mean_loss(LanguageModel& model, const Lines& lines) {
  const auto [tokens, targets] = inputs_of(lines);
  return model.loss(tokens, targets);
}

at::Tensor line_losses(LanguageModel& model, const Lines& lines) {
  const auto [tokens, targets] = inputs_of(lines);
  const at::Tensor logits = model.logits(model.hidden(tokens));  // [n, T, V]
  return at::cross_entropy_loss(logits.transpose(1, 2), targets, {}, at::Reduction::None, -1)
      .sum(1);
}

void learn(LanguageModel& model, int64_t epochs, double rate, int64_t batch, uint64_t seed,
           const Lines& lines, const std::function<at::Tensor(const Lines&)>& loss) {
  AdamW optimizer(trainable_parameters(model), {.weight_decay = 0.01});
  std::vector<size_t> order = consecutive<size_t>(lines.size());
  RandomStream random(seed);
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (size_t first = 0; first < order.size(); first += batch) {
      InterruptGuard::stop_if_interrupted("stopped while learning");
      std::vector<Line> some;
      for (size_t i = first; i < std::min<size_t>(order.size(), first + batch); ++i)
        some.push_back(lines[order[i]]);
      optimizer.clear_gradients();
      loss(some).backward();
      optimizer.step(rate, clip_scale(optimizer.gradient_norm(), kClip));
    }
  }
}

}  // namespace tessera::memo_study
