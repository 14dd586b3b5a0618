#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tessera/base/file.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/tokenizer.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/recall.h"
#include "tessera/store/text_search.h"
#include "tessera/store/verify.h"
#include "tests/support/temporary_folder.h"

namespace tessera::store {

using test::message_of;
using test::TemporaryFolder;
using ::testing::HasSubstr;

/// A memory of bytes that is written in a moment and holds some hundred tokens.
inline memo::TextMemoryConfig small_memory(uint64_t seed = 0) {
  return {.dimension = 128, .heads = 2, .layers = 3, .seed = seed};
}

inline Tokenizer byte_tokenizer() {
  return Tokenizer::bytes(EndOfText::kPresent);
}

/// One that puts a space before each text, so that its tokens do not give the text back.
inline Tokenizer spacing_tokenizer(const std::string& sample) {
  BpeTrainer trainer({.vocabulary_size = 280});
  trainer.add_text(sample + sample);
  std::string json = trainer.train().to_json();
  const std::string flag = "\"add_prefix_space\": ", off = flag + "false";
  json.replace(json.find(off), off.size(), flag + "true");
  return Tokenizer::parse(json, "tokenizer.json");
}

/// Sentences that no two documents share.
inline std::string document_text(int number) {
  const char* things[] = {"raven", "lamp", "river", "stone", "violin", "orchard", "ship"};
  return "Page " + std::to_string(number) + " tells of a " + things[number % 7] + " and " +
         std::to_string(int64_t{number} * number) + " " + things[number * 3 % 7] + "s.\n";
}

inline void memorize(const std::filesystem::path& store, const std::string& id,
                     const std::string& text, Duplicates duplicates = Duplicates::kRefuse) {
  MemoWriter writer(store);
  writer.memorize(id, text, duplicates);
  writer.checkpoint();
}

inline void forget(const std::filesystem::path& store, const std::string& id) {
  MemoWriter writer(store);
  writer.forget(id);
  writer.checkpoint();
}

inline std::string digest(const std::filesystem::path& store) {
  return MemoStore(store).digest();
}

inline std::vector<std::string> ids(const MemoStore& store) {
  std::vector<std::string> ids;
  for (const auto& document : store.ledger().documents()) ids.push_back(document.id);
  return ids;
}

inline std::string text_of(const MemoStore& store, const std::string& id) {
  return whole_text(store.ledger(), store.tokenizer(), store.ledger().get(id));
}

/// The bytes of the tokens that were recalled.
inline std::string text_of(const Recall& recall, const Tokenizer& tokenizer = byte_tokenizer()) {
  std::string text;
  for (const memo::NextToken& token : recall.tokens) text += tokenizer.token_bytes(token.token);
  return text;
}

inline void overwrite(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

/// A test with an empty store, and others with memories of the same configuration.
class StoreTest : public ::testing::Test {
 protected:
  explicit StoreTest(const memo::TextMemoryConfig& memory = small_memory()) : memory_(memory) {
    create(store(), byte_tokenizer());
  }

  std::filesystem::path store(const std::string& name = "store") const { return folder_ / name; }
  void create(const std::filesystem::path& path, const Tokenizer& tokenizer) const {
    MemoStore::create(path, memory_, tokenizer);
  }

  /// A further store that holds these documents, written in this order.
  std::filesystem::path store_of(const std::string& name, const std::vector<int>& documents) const {
    create(store(name), byte_tokenizer());
    MemoWriter writer(store(name));
    for (const int number : documents)
      writer.memorize(std::to_string(number), document_text(number), Duplicates::kRefuse);
    writer.checkpoint();
    return store(name);
  }

  /// What a user hears who verifies.
  std::string complaint(const std::string& name = "store") const {
    return message_of<DataError>([&] { verify(MemoStore(store(name))); });
  }

  const memo::TextMemoryConfig memory_;
  TemporaryFolder folder_{test::folder_in_memory()};
};

}  // namespace tessera::store
