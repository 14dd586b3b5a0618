#include "tessera/infer/evaluation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "tessera/base/machine.h"
#include "tessera/infer/memory_mixture.h"
#include "tessera/model/language_model.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

/// The losses of one text's tokens, in their order, with a memory mixed in.
class MixedLosses {
 public:
  MixedLosses(const TokenMemory& memory, const at::Tensor& text) : mixture_(memory), text_(text) {
    if (text.size(0) > 0) mixture_.append(text[0].item<int64_t>());
  }

  /// The model's losses [t] of the next t tokens, and its logits [t, V] before each, -> the losses
  /// of the mixture, fp64.
  at::Tensor next(const at::Tensor& losses, const at::Tensor& logits) {
    const at::Tensor rows = logits.to(at::kCPU, at::kFloat).contiguous();
    at::Tensor mixed = losses.to(at::kCPU, at::kDouble, false, true).contiguous();
    const size_t V = rows.size(1);
    for (int64_t t = 0; t < mixed.size(0); ++t) {
      const auto token = text_[++read_].item<int64_t>();
      mixture_.predict({rows.data_ptr<float>() + t * rows.size(1), V});
      mixed.data_ptr<double>()[t] -= mixture_.log_gain(token);
      mixture_.append(token);
    }
    return mixed;
  }

 private:
  MemoryMixture mixture_;
  at::Tensor text_;
  int64_t read_ = 0;  // the last token read
};

/// Windows [rows, T + 1] that follow each other; positions from `first` on count.
void add_mixed(LanguageModel& model, const at::Tensor& windows, int64_t first, MixedLosses& mixed,
               LossByPosition& losses) {
  const int64_t T = windows.size(1) - 1;
  const at::Tensor hidden = model.hidden(windows.narrow(1, 0, T));  // [rows, T, C]
  const at::Tensor of_model =
      model.losses_of(hidden, windows.narrow(1, 1, T).contiguous());  // [rows, T]
  for (int64_t row = 0; row < windows.size(0); ++row)
    losses.add(mixed
                   .next(of_model[row].narrow(0, first, T - first),
                         model.logits(hidden[row].narrow(0, first, T - first)))
                   .unsqueeze(0),
               first);
}

bool takes_next(const EvaluationOptions& options) {
  return !options.takes_next || options.takes_next();
}

void evaluate_windows(LanguageModel& model, const at::Tensor& text,
                      const EvaluationOptions& options, LossByPosition& losses,
                      const OnProgress& on_progress) {
  std::optional<MixedLosses> mixed;
  if (options.memory) mixed.emplace(*options.memory, text);
  const int64_t window = model.window();
  const int64_t stride = options.stride > 0 ? options.stride : window;
  const int64_t targets = text.size(0) - 1;
  for (int64_t done = 0; done < targets;) {
    if (done > 0) InterruptGuard::stop_if_interrupted("interrupted");
    const int64_t first = done == 0 ? 0 : window - stride;  // position that counts
    const int64_t begin = done - first, left = targets - begin;
    const int64_t length = std::min(window, left);
    const int64_t whole = left < window ? 0 : (left - window) / stride + 1;  // windows left
    const bool alone = done == 0 && stride < window;  // the first counts from another position
    const int64_t rows = std::clamp<int64_t>(whole, 1, alone ? 1 : options.batch);
    const auto windows = [&] {
      std::vector<at::Tensor> all;
      for (int64_t row = 0; row < rows; ++row)
        all.push_back(text.narrow(0, begin + row * stride, length + 1));
      return at::stack(all);
    };
    if (mixed)
      add_mixed(model, windows(), first, *mixed, losses);
    else if (takes_next(options))
      losses.add(model, windows(), first);
    done = begin + (rows - 1) * stride + length;
    if (on_progress) on_progress(done, targets);
  }
}

void check_stream(LanguageModel& model, int64_t tokens) {
  if (!model.reads_past_window() && tokens > model.window())
    throw UsageError(
        "reading streaming: a text of {} tokens does not fit the window of {} tokens, and a {} "
        "cannot read past its window; read it windowed",
        tokens, model.window(), model.kind());
  const double wanted = 2 * state_bytes(model, tokens);  // memories grow to twice their size
  const double there = physical_memory();
  if (wanted > there)
    throw UsageError(
        "reading streaming: the memories of a text of {} tokens would take about {:.1f} GB, this "
        "machine has {:.1f} GB; read it windowed",
        tokens, wanted / 1e9, there / 1e9);
}

void evaluate_stream(LanguageModel& model, const at::Tensor& text, const TokenMemory* memory,
                     LossByPosition& losses, const OnProgress& on_progress) {
  const int64_t targets = text.size(0) - 1;
  if (targets < 1) return;
  check_stream(model, targets);
  std::optional<MixedLosses> mixed;
  if (memory) mixed.emplace(*memory, text);
  const at::Tensor read = text.narrow(0, 0, targets).unsqueeze(0);
  read_pieces(model, read, model.empty_state(), [&](const at::Tensor& hidden, int64_t first) {
    const int64_t count = hidden.size(1);
    const at::Tensor logits = model.logits(hidden[0]).to(at::kFloat);  // [t, V]
    const at::Tensor next = text.narrow(0, first + 1, count).to(logits.device());
    const at::Tensor of_model = at::cross_entropy_loss(logits, next, {}, at::Reduction::None);
    losses.add((mixed ? mixed->next(of_model, logits) : of_model).unsqueeze(0), first);
    if (on_progress) on_progress(first + count, targets);
  });
}

}  // namespace

void LossByPosition::add(LanguageModel& model, const at::Tensor& windows, int64_t first) {
  TESSERA_CHECK(windows.defined() && windows.dim() == 2 && windows.size(1) >= 2,
                "LossByPosition: windows must be [B, T + 1] with T at least 1");
  const int64_t T = windows.size(1) - 1;
  TESSERA_CHECK(first >= 0 && first < T, "LossByPosition: position ", first, " of ", T);
  const at::Tensor losses =
      model.loss_per_position(windows.narrow(1, 0, T), windows.narrow(1, 1, T).contiguous());
  add(losses.narrow(1, first, T - first), first);
}

void LossByPosition::add(const at::Tensor& losses, int64_t first) {
  check_shape(losses, {-1, -1}, "LossByPosition: losses");
  TESSERA_CHECK(first >= 0, "LossByPosition: position ", first, ", expected 0 or more");
  const at::Tensor sums = losses.to(at::kDouble).sum(0).to(at::kCPU).contiguous();  // [T]
  const int64_t end = first + sums.size(0);
  sums_.resize(std::max<size_t>(sums_.size(), end));
  counts_.resize(sums_.size());
  for (int64_t position = first; position < end; ++position) {
    sums_[position] += sums.data_ptr<double>()[position - first];
    counts_[position] += losses.size(0);
  }
}

LossByPosition::LossByPosition(const at::Tensor& totals) {
  check_shape(totals, {2, -1}, "LossByPosition: totals");
  const at::Tensor numbers = totals.to(at::kCPU, at::kDouble).contiguous();
  const double* sums = numbers.data_ptr<double>();
  const int64_t positions = numbers.size(1);
  sums_.assign(sums, sums + positions);
  counts_.assign(sums + positions, sums + 2 * positions);
}

double LossByPosition::mean() const {
  return std::accumulate(sums_.begin(), sums_.end(), 0.0) / tokens();
}

int64_t LossByPosition::tokens() const {
  return std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
}

at::Tensor LossByPosition::totals() const {
  return at::stack({at::tensor(sums_, at::kDouble), at::tensor(counts_, at::kDouble)});
}

void EvaluationOptions::check(const LanguageModel& model) const {
  if (batch < 1) throw UsageError("batch is {}, expected 1 or more", batch);
  if (stride != 0 && reading == Reading::kStreaming)
    throw UsageError("a stride of {} was given for streaming reading, which has no windows",
                     stride);
  if (stride < 0 || stride > model.window())
    throw UsageError("stride is {}, expected 1 to {}, the tokens of the model's window", stride,
                     model.window());
}

void evaluate_text(LanguageModel& model, const at::Tensor& text, const EvaluationOptions& options,
                   LossByPosition& losses, const OnProgress& on_progress) {
  at::NoGradGuard no_grad;
  options.check(model);
  check_shape(text, {-1}, "evaluate_text: text");
  check_token_ids(text, 0, model.vocabulary(), "token");
  const bool in_one_piece = options.reading == Reading::kStreaming || options.memory;
  if (in_one_piece && !takes_next(options)) return;
  if (options.reading == Reading::kStreaming)
    evaluate_stream(model, text, options.memory, losses, on_progress);
  else
    evaluate_windows(model, text, options, losses, on_progress);
}

}  // namespace tessera
