#include "program/model_jobs/evaluation_share.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tessera/train/processes.h"

namespace tessera::jobs {

EvaluationShare::EvaluationShare(const Tokenizer& tokenizer, Processes* processes)
    : processes_(processes),
      encoder_(tokenizer),
      bytes_taken_(processes ? static_cast<size_t>(processes->count()) : 1) {}

bool EvaluationShare::leads() const {
  return is_alone() || processes_->leads();
}

bool EvaluationShare::is_own_turn(int64_t turn) const {
  return is_alone() || turn % processes_->count() == processes_->rank();
}

bool EvaluationShare::takes_document(size_t bytes) {
  const auto least = std::ranges::min_element(bytes_taken_);
  *least += bytes;
  return is_own_turn(least - bytes_taken_.begin());
}

bool EvaluationShare::takes_batch() {
  return is_own_turn(batches_++);
}

at::Tensor EvaluationShare::encode(std::string_view document) {
  std::vector<int32_t> ids;
  encoder_.append(document, ids);
  return at::tensor(at::ArrayRef<int32_t>(ids), at::kLong);
}

at::Tensor EvaluationShare::encode_together(std::string_view document) {
  if (is_alone()) return encode(document);
  std::vector<std::vector<int32_t>> pieces;  // empty where another process encodes them
  for (size_t begin = 0; begin < document.size();) {
    const size_t end = begin + encoder_.cut(document.substr(begin), kLongBytes);
    pieces.emplace_back();
    if (is_own_turn(pieces_++)) encoder_.append_piece(document, begin, end, pieces.back());
    begin = end;
  }
  const at::Tensor lengths = at::zeros({std::ssize(pieces)}, at::kLong);
  for (int64_t i = 0; i < lengths.size(0); ++i)
    lengths[i] = std::ssize(pieces[static_cast<size_t>(i)]);
  processes_->sum({lengths});
  const at::Tensor ids = at::zeros({lengths.sum().item<int64_t>()}, at::kInt);
  int64_t first = 0;
  for (int64_t i = 0; i < lengths.size(0); ++i) {
    const at::ArrayRef<int32_t> own = pieces[static_cast<size_t>(i)];
    if (!own.empty()) ids.narrow(0, first, std::ssize(own)).copy_(at::tensor(own, at::kInt));
    first += lengths[i].item<int64_t>();
  }
  processes_->sum({ids});
  return ids.to(at::kLong);
}

}  // namespace tessera::jobs
