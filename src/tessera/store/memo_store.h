#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "tessera/store/ledger.h"
#include "tessera/store/store_folder.h"

namespace tessera {

/// A store to read, as it was at one moment: when it was opened. Others may write meanwhile. Used
/// by one thread.
class MemoStore {
 public:
  /// Creates a store without documents; it appears whole or not at all. memory.vocabulary becomes
  /// the tokenizer's. Throws UsageError where the folder is there already and not empty,
  /// std::invalid_argument on sizes that make no sense, SystemError.
  static void create(const std::filesystem::path& folder, const TextMemoryConfig& memory,
                     const Tokenizer& tokenizer);

  /// Throws DataError where a file is damaged, of another version, or belongs to another store;
  /// SystemError.
  explicit MemoStore(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return folder_.path(); }
  const StoreConfig& config() const { return folder_.config(); }
  const Tokenizer& tokenizer() const { return folder_.tokenizer(); }
  const Ledger& ledger() const { return ledger_; }
  /// Read, checked and brought up to date at the first call. Throws DataError.
  const TextMemory& memory() const;
  /// content_digest() of the memory.
  std::string digest() const;

 private:
  StoreFolder folder_;
  Ledger ledger_;
  mutable std::optional<MatrixFile> matrix_;
  mutable std::optional<TextMemory> memory_;
};

}  // namespace tessera
