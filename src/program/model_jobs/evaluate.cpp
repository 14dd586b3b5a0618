#include "program/model_jobs/evaluate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/data/text_encoder.h"
#include "tessera/data/text_source.h"
#include "tessera/train/processes.h"

namespace tessera::jobs {

namespace {

/// What one of several processes reads of the documents that they evaluate together, or a process
/// alone, which reads all. Each is asked about the same documents in the same order. No process
/// encodes what another one encodes.
class EvaluationShare {
 public:
  /// Bytes from which a document is long: its batches of windows are worth sharing.
  static constexpr size_t kLongBytes = 1 << 16;

  /// processes: null for one alone. Not owned.
  EvaluationShare(const Tokenizer& tokenizer, Processes* processes)
      : processes_(processes),
        encoder_(tokenizer),
        bytes_taken_(processes ? processes->count() : 1) {}

  /// Whether this process speaks for all.
  bool leads() const { return is_alone() || processes_->leads(); }

  /// Whether the next document, of so many bytes, is this process's. It is given to the process
  /// that has had the fewest bytes.
  bool takes_document(size_t bytes) {
    const auto least = std::ranges::min_element(bytes_taken_);
    *least += bytes;
    return is_own_turn(least - bytes_taken_.begin());
  }
  /// Whether the next batch of windows of a document that all processes have is this process's.
  bool takes_batch() { return is_own_turn(batches_++); }

  /// The ids of a document [N] int64.
  at::Tensor encode(std::string_view document) {
    std::vector<int32_t> ids;
    encoder_.append(document, ids);
    return at::tensor(at::ArrayRef<int32_t>(ids), at::kLong);
  }
  /// The same in all processes, each of which encodes some pieces of the document and sends them to
  /// the others. Throws ProcessLost.
  at::Tensor encode_together(std::string_view document) {
    if (is_alone()) return encode(document);
    std::vector<std::vector<int32_t>> pieces;  // empty where another process encodes them
    for (size_t begin = 0; begin < document.size();) {
      const size_t end = begin + encoder_.cut(document.substr(begin), kLongBytes);
      pieces.emplace_back();
      if (is_own_turn(pieces_++)) encoder_.append_piece(document, begin, end, pieces.back());
      begin = end;
    }
    const at::Tensor lengths = at::zeros({std::ssize(pieces)}, at::kLong);
    for (int64_t i = 0; i < lengths.size(0); ++i) lengths[i] = std::ssize(pieces[i]);
    processes_->sum({lengths});
    const at::Tensor ids = at::zeros({lengths.sum().item<int64_t>()}, at::kInt);
    int64_t first = 0;
    for (int64_t i = 0; i < lengths.size(0); ++i) {
      const at::ArrayRef<int32_t> own = pieces[i];
      if (!own.empty()) ids.narrow(0, first, std::ssize(own)).copy_(at::tensor(own, at::kInt));
      first += lengths[i].item<int64_t>();
    }
    processes_->sum({ids});
    return ids.to(at::kLong);
  }

 private:
  bool is_alone() const { return processes_ == nullptr; }
  bool is_own_turn(int64_t turn) const {
    return is_alone() || turn % processes_->count() == processes_->rank();
  }

  Processes* processes_;
  TextEncoder encoder_;
  std::vector<size_t> bytes_taken_;  // by each process
  int64_t batches_ = 0, pieces_ = 0;
};

/// Bytes of all tokens but the first.
int64_t predicted_bytes(const Tokenizer& tokenizer, const at::Tensor& ids) {
  int64_t bytes = 0;
  for (int64_t i = 1; i < ids.size(0); ++i)
    bytes += std::ssize(tokenizer.token_bytes(static_cast<int32_t>(ids.data_ptr<int64_t>()[i])));
  return bytes;
}

/// A process's share. Long documents in windows are read by all processes, which take turns with
/// the batches; others by one process each.
Evaluate::Answer share_of(const ModelFolder& folder, const TextSource& source,
                          const EvaluationOptions& options, EvaluationShare& share,
                          const OnProgress& on_progress) {
  const bool in_one_piece = options.reading == Reading::kStreaming || options.memory;
  EvaluationOptions in_turn = options;
  in_turn.takes_next = [&share] { return share.takes_batch(); };
  Evaluate::Answer answer;
  const int64_t bytes = source.bytes();
  int64_t before = 0;  // bytes of the documents before
  const auto evaluate_document = [&](std::string_view text) {
    const auto show = [&](double part) {
      on_progress(before + static_cast<int64_t>(part * text.size()), bytes);
    };
    show(0);
    const bool together = !in_one_piece && text.size() > EvaluationShare::kLongBytes;
    if (together || share.takes_document(text.size())) {
      const at::Tensor ids = together ? share.encode_together(text) : share.encode(text);
      if (!together || share.leads()) answer.bytes += predicted_bytes(folder.tokenizer, ids);
      evaluate_text(*folder.model, ids, together ? in_turn : options, answer.by_position,
                    [&](int64_t done, int64_t of) { show(static_cast<double>(done) / of); });
    }
    before += std::ssize(text);
    show(0);
  };
  for_each_document(source, evaluate_document);
  return answer;
}

/// What the processes found together, the same in all of them.
Evaluate::Answer total(Processes& processes, const Evaluate::Answer& own) {
  const at::Tensor positions = at::zeros({processes.count()}, at::kLong);
  positions[processes.rank()] = own.by_position.positions();
  const at::Tensor bytes = at::full({1}, own.bytes, at::kLong);
  processes.sum({positions, bytes});
  const at::Tensor totals = at::zeros({2, positions.max().item<int64_t>()}, at::kDouble);
  totals.narrow(1, 0, own.by_position.positions()).copy_(own.by_position.totals());
  processes.sum({totals});
  return {LossByPosition(totals), bytes.item<int64_t>()};
}

}  // namespace

void check_finite(double loss) {
  if (!std::isfinite(loss))
    throw std::runtime_error(
        "the loss is not a finite number: the model's parameters are damaged, or its training "
        "diverged");
}

Evaluate::Answer Evaluate::run(const ModelFolder& folder, const OnProgress& on_progress) const {
  return run(folder, TextSource::from_path(data, suffix), nullptr, on_progress);
}

Evaluate::Answer Evaluate::run(const ModelFolder& folder, const TextSource& source,
                               Processes* processes, const OnProgress& on_progress) const {
  options.check(*folder.model);
  EvaluationShare share(folder.tokenizer, processes);
  Answer answer = share_of(folder, source, options, share, on_progress);
  if (processes) answer = total(*processes, answer);
  if (answer.by_position.tokens() == 0)
    throw DataError(data, "has fewer than two tokens, so there is nothing to predict");
  check_finite(answer.loss());
  return answer;
}

double Evaluate::Answer::perplexity() const {
  return std::exp(loss());
}

double Evaluate::Answer::bits_per_byte() const {
  return loss() * by_position.tokens() / std::numbers::ln2 / bytes;
}

config::Json Evaluate::Answer::json() const {
  return {{"tokens", by_position.tokens()},
          {"bytes", bytes},
          {"loss", loss()},
          {"perplexity", perplexity()},
          {"bits_per_byte", bits_per_byte()}};
}

}  // namespace tessera::jobs
