#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tessera/data/tokenizer.h"
#include "tessera/memo/text_memory_config.h"

namespace tessera {

/// What a store is from its creation on. Stores with equal ones can be merged.
struct StoreConfig {
  static constexpr int64_t kFormat = 1;

  int64_t format = kFormat;
  TextMemoryConfig memory;
  std::string tokenizer;  ///< Tokenizer::digest, 16 hexadecimal digits

  /// Of a memory whose vocabulary is the tokenizer's.
  static StoreConfig of(TextMemoryConfig memory, const Tokenizer& tokenizer);
  /// Throws SystemError, or DataError where it is damaged or of another version.
  static StoreConfig load(const std::filesystem::path& path);
  void save(const std::filesystem::path& path) const;

  /// On one line: equal texts, equal configurations.
  std::string text() const;
  bool operator==(const StoreConfig&) const = default;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("format", format, "of the store's files");
    memory.visit_fields(field);
    field("tokenizer", tokenizer, "digest of tokenizer.json");
  }
};

/// As StoreConfig::tokenizer has it.
std::string digest_of(const Tokenizer& tokenizer);

}  // namespace tessera
