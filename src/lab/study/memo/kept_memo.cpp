#include "lab/study/memo/kept_memo.h"

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/number.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera::memo_study {
namespace {

constexpr int64_t kRowsAtOnce = 5;

}  // namespace

KeptMemo::KeptMemo(const MemoConfig& config, uint64_t seed, std::filesystem::path file,
                   std::string name, Texts texts)
    : config_(config),
      seed_(seed),
      file_(std::move(file)),
      name_(std::move(name)),
      texts_(std::move(texts)) {}

void KeptMemo::begin(int64_t batches) {
  memo_.emplace(config_, seed_);
  if (batches < 2 || !is_there(file_)) return;
  const TensorFile file = TensorFile::load(file_);
  const auto name = file.metadata.find("name");
  if (name == file.metadata.end() || name->second != name_) return;
  const std::string& held = file.metadata_at("batches");
  const auto there = number_from<int64_t>(held);
  if (!there || *there < 0)
    throw DataError(file.path, "its metadata has '{}' for 'batches', expected a number", held);
  if (*there > batches) return;
  memo_->restore(file);
  held_ = *there;
}

const Memo& KeptMemo::after(int64_t batches) {
  if (!memo_) begin(batches);
  while (held_ < batches) {
    for (const at::Tensor& rows : texts_(held_ + 1).split(kRowsAtOnce)) {
      InterruptGuard::stop_if_interrupted("stopped while memorizing texts");
      memo_->memorize(rows);
    }
    ++held_;
    save_tensors(file_, memo_->memories(), {{"name", name_}, {"batches", std::to_string(held_)}});
  }
  return *memo_;
}

}  // namespace tessera::memo_study
