#include "tessera/store/store_token_memory.h"

#include <cmath>
#include <numeric>

#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

class StoreTokenMemoryTest : public StoreTest {
 protected:
  /// What the store holds after every token of a text, all tokens being equally likely beforehand.
  std::vector<std::vector<StoredContinuation>> read(const std::string& text) const {
    const StoreTokenMemory memory(store(), "model", byte_tokenizer());
    const size_t V = byte_tokenizer().vocabulary_size();
    const std::vector<double> uniform(V + 3, -std::log(V));  // a model may have more tokens
    const auto reader = memory.reader();
    std::vector<std::vector<StoredContinuation>> all;
    for (const int32_t token : byte_tokenizer().encode(text)) {
      reader->append(token);
      all.push_back(reader->continuations(uniform));
    }
    return all;
  }
};

TEST_F(StoreTokenMemoryTest, KnowsTheNextTokenOfATextThatItHolds) {
  const std::string text = "The raven sat above the door.";
  memorize(store(), "one", text);
  const auto found = read(text);
  const auto tokens = byte_tokenizer().encode(text);
  for (size_t t = 8; t + 1 < tokens.size(); ++t) {
    ASSERT_FALSE(found[t].empty());
    const StoredContinuation& longest = found[t].back();
    EXPECT_EQ(longest.length, 8);
    for (const StoredContinuation& shorter : found[t])
      EXPECT_LE(shorter.log_ratio, longest.log_ratio);
    EXPECT_GT(longest.log_ratio, 5);
    double of_next = 0, sum = 0;
    for (const auto& [token, probability] : longest.tokens) {
      if (token == tokens[t + 1]) of_next = probability;
      sum += probability;
    }
    EXPECT_GT(of_next, 0.99);
    EXPECT_NEAR(sum, 1, 1e-9);
  }
}

TEST_F(StoreTokenMemoryTest, AnEmptyStoreSaysNothing) {
  EXPECT_TRUE(StoreTokenMemory(store(), "model", byte_tokenizer()).frequencies().empty());
  for (const auto& continuations : read("The raven sat above the door."))
    EXPECT_TRUE(continuations.empty());
}

TEST_F(StoreTokenMemoryTest, AForgottenDocumentLeavesNoTrace) {
  memorize(store(), "one", document_text(1));
  const auto before = read(document_text(1) + document_text(2));
  memorize(store(), "two", document_text(2));
  forget(store(), "two");
  const auto after = read(document_text(1) + document_text(2));
  ASSERT_EQ(after.size(), before.size());
  for (size_t t = 0; t < before.size(); ++t) {
    ASSERT_EQ(after[t].size(), before[t].size());
    for (size_t i = 0; i < before[t].size(); ++i) {
      EXPECT_EQ(after[t][i].log_ratio, before[t][i].log_ratio);
      EXPECT_EQ(after[t][i].tokens, before[t][i].tokens);
    }
  }
}

TEST_F(StoreTokenMemoryTest, ATokenThatOnlyTheModelHasEndsEveryMatch) {
  memorize(store(), "one", "The raven sat above the door.");
  const StoreTokenMemory memory(store(), "model", byte_tokenizer());
  const std::vector<double> uniform(300, -std::log(300.0));
  const auto reader = memory.reader();
  for (const int32_t token : byte_tokenizer().encode("The raven")) reader->append(token);
  EXPECT_FALSE(reader->continuations(uniform).empty());
  reader->append(byte_tokenizer().vocabulary_size());
  EXPECT_TRUE(reader->continuations(uniform).empty());
}

TEST_F(StoreTokenMemoryTest, FrequenciesCountTheTokens) {
  memorize(store(), "one", "aab");
  const auto shares = StoreTokenMemory(store(), "model", byte_tokenizer()).frequencies();
  EXPECT_NEAR(shares['a'] / shares['z'], 3, 1e-9) << "each count plus 1";
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
}

TEST_F(StoreTokenMemoryTest, AnotherTokenizerIsRefusedByName) {
  const std::string message = message_of<DataError>(
      [&] { StoreTokenMemory(store(), "runs/model", Tokenizer::bytes(EndOfText::kAbsent)); });
  EXPECT_THAT(message, HasSubstr("has another tokenizer than the model runs/model"));
  EXPECT_THAT(message, HasSubstr("--tokenizer runs/model/tokenizer.json"));
}

}  // namespace
}  // namespace tessera::store
