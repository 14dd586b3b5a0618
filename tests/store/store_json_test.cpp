#include "tessera/store/store_json.h"

#include <nlohmann/json.hpp>

#include "tessera/store/recall.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

using config::Json;

class StoreJson : public StoreTest {
 protected:
  /// What is recited after a text, as JSON.
  Json recited(const std::string& prompt) {
    const MemoStore opened(store());
    const Question question = read_question(opened, prompt);
    return json_of(opened, prompt, question, recall(opened, question.tokens, {}));
  }
};

TEST_F(StoreJson, ARecallHasItsSourcesInBytesCharactersAndLines) {
  memorize(store(), "one", "Zo\u00eb saw\nthe raven fly.");
  const Json json = recited("the rave");
  EXPECT_EQ(json["prompt"], "the rave");
  EXPECT_EQ(json["read_as"], "the rave");
  EXPECT_EQ(json["differing_words"], 0);
  EXPECT_EQ(json["text"], "n fly.");
  EXPECT_EQ(json["finish"], "end_of_text");
  EXPECT_EQ(json["window_lengths"].size(), 3u);
  ASSERT_EQ(json["tokens"].size(), 6u);
  const Json& first = json["tokens"][0];
  EXPECT_EQ(first["id"], 'n');
  EXPECT_EQ(first["text"], "n");
  EXPECT_EQ(first["places"], 1);
  EXPECT_EQ(first["window_scores"].size(), 3u);
  const Json source = {{"document", "one"}, {"position", 17}, {"byte", 17},
                       {"character", 16},   {"line", 2},      {"matched_length", 8}};
  EXPECT_EQ(first["sources"][0], source);
}

TEST_F(StoreJson, ADocumentHasItsSizeAndTime) {
  memorize(store(), "one", "Zo\u00eb.");
  const MemoStore opened(store());
  const StoredDocument document = opened.ledger().get("one");
  const Json json = json_of(document, opened.ledger().details(document));
  EXPECT_EQ(json["bytes"], 5);
  EXPECT_EQ(json["tokens"], 6);  // with the end of text
  EXPECT_GT(json["memorized"], 1600000000);
  EXPECT_EQ(json["sha256"].get<std::string>().size(), 64u);
  const Json earlier = json_of(document, {});  // stored by an earlier version
  for (const char* key : {"bytes", "memorized", "sha256"}) EXPECT_FALSE(earlier.contains(key));
}

TEST(RecitedText, LeavesOutWhatTheQuestionHasAlready) {
  const Tokenizer tokenizer = byte_tokenizer();
  const auto recited = [&](const std::string& rest, const std::string& tokens) {
    RecitedText text(tokenizer, rest);
    std::string added;
    for (const char token : tokens) added += text.add(token);
    EXPECT_EQ(text.text(), added);
    return added;
  };
  EXPECT_EQ(recited("", "raven"), "raven");
  EXPECT_EQ(recited("ra", "raven"), "ven");
  EXPECT_EQ(recited("rx", "raven"), "aven");
  EXPECT_EQ(recited("raven", "raven"), "");
  EXPECT_EQ(recited("raven", ""), "");
  EXPECT_EQ(recited("a", "raven"), "raven");  // it does not begin so
}

}  // namespace
}  // namespace tessera::store
