#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tessera/data/tokenizer.h"
#include "tessera/memo/text_memory_config.h"

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

}  // namespace tessera::store
