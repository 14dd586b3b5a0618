#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/file.h"
#include "tessera/data/tokenizer.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/text_memory_config.h"
#include "tessera/store/ledger.h"

namespace tessera::store {

/// What a store is created with and keeps. Stores of equal configuration can be merged. A store of
/// one matrix has format 1, which does not name `shards`; one of several has format 2.
struct StoreConfig {
  static constexpr int64_t kFormatOfOneMatrix = 1, kFormatOfShards = 2;

  int64_t format = kFormatOfOneMatrix;
  memo::TextMemoryConfig memory;
  std::string tokenizer;  ///< Tokenizer::digest, 16 hexadecimal digits

  /// The configuration of a store; the vocabulary becomes the tokenizer's.
  static StoreConfig of(memo::TextMemoryConfig memory, const Tokenizer& tokenizer);
  /// Throws SystemError, or DataError if the file is damaged or has another version.
  static StoreConfig load(const std::filesystem::path& path);
  void save(const std::filesystem::path& path) const;

  /// As one line of text; equal if and only if the configurations are.
  std::string text() const;
  bool operator==(const StoreConfig&) const = default;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("format", format, "version of the store's files");
    memory.visit_fields(field);
    field("tokenizer", tokenizer, "digest of tokenizer.json");
  }
};

/// The digest in StoreConfig::tokenizer.
std::string digest_of(const Tokenizer& tokenizer);

class MatrixFile;

/// A store is a folder:
///   config.json         what it was created with (StoreConfig)
///   tokenizer.json      how text becomes tokens
///   ledger.sqlite       documents and journal, the source of truth (Ledger)
///   memory.safetensors  the matrix, a pure function of the ledger (MatrixFile); in several shards
///                       memory-0000.safetensors, memory-0001.safetensors, ...; for a moment
///                       beside it memory.safetensors.settled, which is to take its place
///   lock                held by the one process that writes (lock())
///   history.jsonl       its erasures, where somebody had it begin one
class StoreFolder {
 public:
  static constexpr const char* kHistoryFile = "history.jsonl";
  static constexpr const char* kLedgerFile = "ledger.sqlite";

  /// The right to write to the store in a folder, held by one process at a time. Throws as FileLock
  /// does.
  static FileLock lock(const std::filesystem::path& store);
  /// Whether a store is at this path, be it damaged.
  static bool is_at(const std::filesystem::path& path);
  /// Reads config.json and tokenizer.json. Throws DataError if the folder is not a store, or if the
  /// two do not belong together.
  static StoreFolder open(const std::filesystem::path& path);
  /// Writes these two files and a ledger without documents into an empty folder. settle() then
  /// makes a store of it.
  static StoreFolder create(const std::filesystem::path& path, const StoreConfig& config,
                            const Tokenizer& tokenizer);
  /// Makes a store without documents of an empty folder, and closes it, so that SQLite removes its
  /// own files.
  static void create_empty(const std::filesystem::path& path, const StoreConfig& config,
                           const Tokenizer& tokenizer);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path ledger_path() const { return path_ / kLedgerFile; }
  std::filesystem::path matrix_path(int32_t shard) const;

  const StoreConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

  /// Throws DataError where something lies in the folder that is not a file of the store.
  void check_files() const;

  /// Of each shard, the file that goes with the ledger's state. Throws DataError where one is
  /// damaged or missing, or the ledger knows another number of them; std::runtime_error if the
  /// store has been rebuilt since open().
  std::vector<MatrixFile> open_matrices(const Ledger& ledger) const;
  /// Throws as Ledger; std::runtime_error as open_matrices().
  Ledger open_ledger(sqlite::Access access) const;
  /// Writes all matrices, and settles the ledger with them.
  void settle(Ledger& ledger, const memo::TextMemory& memory) const;
  /// Writes the matrix of one shard beside the file that is there and returns its digest.
  std::string write_settled(const memo::TextMemory& memory, int32_t shard) const;
  /// Puts the files that were written so in place, if the ledger is settled with their digests, and
  /// removes the others.
  void put_in_place(const Ledger& ledger) const;
  /// Replaces the file of one shard by one that contains the journal up to this change.
  void write_unsettled(const memo::TextMemory& memory, int32_t shard, int64_t change,
                       const std::string& after) const;
  /// The last change that each file contains; none of a file that does not go with the ledger's
  /// state: it belongs to an earlier or later one.
  static std::vector<std::optional<int64_t>> changes_in(const std::vector<MatrixFile>& files,
                                                        const Ledger& ledger);
  /// The memory at the ledger's last change: the matrices of the files, to each of which the
  /// changes are applied that it lacks. Throws DataError if files and ledger do not belong
  /// together.
  memo::TextMemory memory(const std::vector<MatrixFile>& files, const Ledger& ledger) const;

 private:
  StoreFolder(std::filesystem::path path, StoreConfig config, Tokenizer tokenizer);
  std::filesystem::path settled_path(int32_t shard) const;
  /// The file of a shard that is written, but not in place yet, if the ledger is settled with it.
  std::optional<MatrixFile> open_settled(int32_t shard, std::span<const std::string> settled) const;

  std::filesystem::path path_;
  StoreConfig config_;
  Tokenizer tokenizer_;
};

}  // namespace tessera::store
