#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tessera/model/memo.h"

namespace tessera::memo_study {

/// A MeMo that memorizes batches of texts one after the other. After each its memories are written
/// to a file, so that a study that was stopped goes on with the next batch. Memories of a study
/// that are filled in turn may share the file: it holds the one that was last at work.
class KeptMemo {
 public:
  /// Texts [B, T], kLong, of batch k, from 1.
  using Texts = std::function<at::Tensor(int64_t batch)>;

  /// name: tells this memory from others of the study that stood in the file.
  KeptMemo(const MemoConfig& config, uint64_t seed, std::filesystem::path file, std::string name,
           Texts texts);

  /// The memory that holds the first `batches` batches, no fewer than before. Where it begins with
  /// more than one, the file of an earlier run counts; ask so only when that run was one of this
  /// program with these settings. Throws Interrupted, SystemError, and DataError where the file is
  /// damaged.
  const Memo& after(int64_t batches);

 private:
  void begin(int64_t batches);

  MemoConfig config_;
  uint64_t seed_;
  std::filesystem::path file_;
  std::string name_;
  Texts texts_;
  std::optional<Memo> memo_;  // made when it is first needed
  int64_t held_ = 0;          // batches
};

}  // namespace tessera::memo_study
