#include "program/mcp/store_tools.h"

#include <algorithm>
#include <fstream>

#include "program/jobs/store_files.h"
#include "tests/program/mcp/conversation.h"
#include "tests/store/small_stores.h"

namespace tessera::mcp {
namespace {

using store::document_text;

TEST(ToolSchema, IsMadeFromTheFieldsOfARequest) {
  const Json schema = schema_of(config::fields_of(jobs::Create()));
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_FALSE(schema.contains("required"));
  const Json& properties = schema["properties"];
  EXPECT_EQ(properties["matrices"]["type"], "integer");
  EXPECT_EQ(properties["matrices"]["minimum"], 1);
  EXPECT_EQ(properties["matrices"]["maximum"], 4096);
  EXPECT_FALSE(properties["matrices"].contains("default"));
  EXPECT_EQ(properties["error"]["type"], "number");
  EXPECT_EQ(properties["error"]["maximum"], 0.999999);
  EXPECT_EQ(properties["code"]["enum"], Json::array({"bound", "paper"}));
  EXPECT_EQ(properties["code"]["default"], "bound");
  EXPECT_EQ(properties["seed"]["minimum"], 0);
  EXPECT_THAT(properties["seed"]["description"].get<std::string>(), HasSubstr("random seed"));

  double rate = 1;
  const auto schema_with = [&](const config::Demand& demand) {
    return schema_of({{"rate", "", &rate, demand}})["properties"]["rate"];
  };
  EXPECT_EQ(schema_with(config::above(0, 1))["exclusiveMinimum"], 0);
  EXPECT_EQ(schema_with(config::above(0, 1))["maximum"], 1);
  EXPECT_EQ(schema_with(config::below(1))["exclusiveMaximum"], 1);

  const Json ask = schema_of(config::fields_of(jobs::Ask()));
  EXPECT_EQ(ask["required"], Json::array({"prompts"}));
  EXPECT_EQ(ask["properties"]["prompts"]["type"], "array");
  EXPECT_EQ(ask["properties"]["prompts"]["items"], Json({{"type", "string"}}));
  EXPECT_EQ(ask["properties"]["exact"]["type"], "boolean");
  EXPECT_EQ(ask["properties"]["exact"]["default"], false);
}

/// A store with three documents, and a folder for certificates.
class StoreTools : public ::testing::Test {
 protected:
  StoreTools() {
    store::MemoStore::create(access_.store, store::small_memory(), store::byte_tokenizer());
    for (int number : {0, 1, 2})
      store::memorize(access_.store, "page" + std::to_string(number), document_text(number));
    std::filesystem::create_directory(access_.certificates);
  }

  /// What a tool answers, or the text of its error.
  Json ask(const std::string& tool, const Json& arguments) {
    const auto sent = conversation(tools_of(access_), {call(1, tool, arguments)});
    if (sent.size() != 1 || !sent[0].contains("result")) return Json(sent);
    const Json& result = sent[0]["result"];
    return result.value("isError", false) ? result["content"][0]["text"]
                                          : result["structuredContent"];
  }
  std::vector<std::string> documents() { return store::ids(store::MemoStore(access_.store)); }

  test::TemporaryFolder folder_;
  StoreAccess access_ = {.store = (folder_ / "store").native(),
                         .certificates = (folder_ / "certificates").native()};
};

TEST_F(StoreTools, AreNamedWithWhatTheyDo) {
  std::vector<std::string> reads, edits;
  for (const Tool& tool : tools_of(access_)) {
    const Json json = json_of(tool);
    const bool only_reads = json["annotations"]["readOnlyHint"].get<bool>();
    EXPECT_EQ(json["annotations"]["destructiveHint"], !only_reads);
    EXPECT_EQ(json["annotations"]["openWorldHint"], false);
    EXPECT_FALSE(json["description"].get<std::string>().empty());
    (only_reads ? reads : edits).push_back(json["name"]);
  }
  EXPECT_THAT(
      reads, ElementsAre("recall", "ask", "find", "search", "documents", "show", "stat", "verify"));
  EXPECT_THAT(edits, ElementsAre("memorize", "forget"));
  access_.read_only = true;
  for (const Tool& tool : tools_of(access_)) EXPECT_EQ(tool.effect, Effect::kNone);
}

TEST_F(StoreTools, MemorizeThenRecallThenForget) {
  const Json memorized =
      ask("memorize", {{"id", "raven"}, {"text", "The raven sat and waited.\n"}});
  EXPECT_EQ(memorized["outcome"], "new");
  const Json recited = ask("recall", {{"prompt", "The raven sat"}});
  EXPECT_EQ(recited["text"], " and waited.\n");
  EXPECT_EQ(recited["finish"], "end_of_text");
  ASSERT_EQ(recited["passages"].size(), 1u) << recited;
  Json passage = recited["passages"][0];
  EXPECT_GT(passage["probability"], 0.9);
  passage.erase("probability");
  EXPECT_EQ(passage, Json({{"text", " and waited.\n"},
                           {"document", "raven"},
                           {"line", 1},
                           {"last_line", 1},
                           {"also_in", Json::array()}}));
  EXPECT_EQ(ask("ask", {{"prompts", {"The raven sat"}}})["data"], Json::array({recited}));
  EXPECT_EQ(ask("find", {{"text", "raven sat"}, {"limit", nullptr}})["places"], 1);
  EXPECT_EQ(ask("show", {{"id", "raven"}})["text"], "The raven sat and waited.\n");
  const Json forgotten = ask("forget", {{"ids", {"raven"}}, {"certificate", "raven.json"}});
  EXPECT_EQ(forgotten["data"][0]["id"], "raven");
  EXPECT_EQ(forgotten["certificate"],
            Json::parse(std::ifstream(folder_ / "certificates/raven.json")));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "certificates/raven.html"));
  EXPECT_THAT(documents(), ElementsAre("page0", "page1", "page2"));
  EXPECT_EQ(ask("verify", Json::object())["documents"], 3);
}

TEST_F(StoreTools, KeepNobodyElseFromErasing) {
  const auto tools = tools_of(access_);
  const auto& documents = *std::ranges::find(tools, "documents", &Tool::name);
  const auto count = [&] {
    return documents.call(nlohmann::json::object(), [](int64_t, int64_t) {})["data"].size();
  };
  EXPECT_EQ(count(), 3u);
  store::forget(access_.store, "page1");  // throws where a reader has the store open
  EXPECT_EQ(count(), 2u);
}

TEST_F(StoreTools, ListAHundredDocumentsUnlessAskedForMore) {
  const auto tools = tools_of(access_);
  const auto& documents = *std::ranges::find(tools, "documents", &Tool::name);
  EXPECT_EQ(documents.schema["properties"]["limit"]["default"], 100);
  store::MemoWriter writer(access_.store);
  for (int n = 3; n < 101; ++n)
    writer.memorize(std::to_string(n), "A page.", store::Duplicates::kRefuse);
  writer.checkpoint();
  const Json listed = ask("documents", Json::object());
  EXPECT_EQ(listed["data"].size(), 100u);
  EXPECT_EQ(listed["total"], 101);
  EXPECT_EQ(listed["has_more"], true);
  EXPECT_EQ(ask("documents", {{"after", listed["data"].back()["id"]}})["data"].size(), 1u);
  EXPECT_EQ(ask("documents", {{"limit", 0}})["data"].size(), 101u);
}

TEST_F(StoreTools, TellThatForgottenTextIsErasedLaterWhereItIsStillRead) {
  {
    const store::MemoStore reader(access_.store);
    const Json forgotten = ask("forget", {{"ids", {"page1"}}});
    EXPECT_EQ(forgotten["data"][0]["id"], "page1");
    EXPECT_EQ(forgotten["erasure_pending"], true);
    EXPECT_THAT(documents(), ElementsAre("page0", "page2"));
    EXPECT_EQ(ask("documents", Json::object())["unerased"], Json({"page1"}));
  }
  EXPECT_FALSE(ask("forget", {{"ids", {"page1"}}}).contains("erasure_pending"));
  EXPECT_EQ(ask("documents", Json::object())["unerased"], Json::array());
}

TEST_F(StoreTools, TellThatReplacedTextIsErasedLaterWhereItIsStillRead) {
  const store::MemoStore reader(access_.store);
  const auto replace_page = [&](const char* text) {
    return ask("memorize", {{"id", "page1"}, {"text", text}, {"replace", true}});
  };
  EXPECT_EQ(replace_page("Blank.")["erasure_pending"], true);
  EXPECT_FALSE(ask("memorize", {{"id", "new"}, {"text", "Added."}}).contains("erasure_pending"));
}

TEST_F(StoreTools, BadArgumentsAreToldAsTheVerbTellsThem) {
  EXPECT_EQ(ask("recall", Json::object()), "prompt is missing");
  EXPECT_THAT(ask("recall", {{"prompt", 3}}).get<std::string>(), HasSubstr("expected a text"));
  EXPECT_THAT(ask("recall", {{"promt", ""}}).get<std::string>(), HasSubstr("'prompt'"));
  EXPECT_EQ(ask("verify", {{"store", "x"}}), "unknown key 'store'; there are none");
  EXPECT_THAT(ask("recall", {{"prompt", "The"}, {"sources", 0}}).get<std::string>(),
              HasSubstr("from 1 to 1000"));
  EXPECT_THAT(ask("show", {{"id", "unheard"}}).get<std::string>(), HasSubstr("unheard"));
  EXPECT_THAT(ask("memorize", {{"id", "page0"}, {"text", "other"}}).get<std::string>(),
              HasSubstr("page0"));
}

TEST_F(StoreTools, ACertificateStaysInItsFolder) {
  for (const char* name :
       {"../stolen.json", "/tmp/stolen.json", "..", ".json", "page", "page.html"}) {
    const Json refused = ask("forget", {{"ids", {"page0"}}, {"certificate", name}});
    EXPECT_THAT(refused.dump(), HasSubstr("the name of a file")) << name;
  }
  std::ofstream(folder_ / "certificates/mine.html") << "kept";
  EXPECT_THAT(ask("forget", {{"ids", {"page0"}}, {"certificate", "mine.json"}}).dump(),
              HasSubstr("mine.html already exists"));
  EXPECT_THAT(ask("forget", {{"ids", {"page0"}}, {"key", "/etc/passwd"}}).dump(),
              HasSubstr("unknown key"));
  access_.certificates.clear();
  EXPECT_THAT(ask("forget", {{"ids", {"page0"}}, {"certificate", "x.json"}}).dump(),
              HasSubstr("unknown key"));
  EXPECT_EQ(documents().size(), 3u);
}

TEST_F(StoreTools, NoCertificateIsWrittenWhereItsNameIsNull) {
  const Json forgotten = ask("forget", {{"ids", {"page1"}}, {"certificate", nullptr}});
  EXPECT_EQ(forgotten["data"][0]["id"], "page1") << forgotten;
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "certificates"));
}

TEST_F(StoreTools, ACancelledEditChangesNothing) {
  const auto before = store::digest(access_.store);
  std::string text;
  for (int number = 3; number < 300; ++number) text += document_text(number);
  const auto sent = conversation(
      tools_of(access_), {call(1, "memorize", {{"id", "long"}, {"text", text}}), cancelled(1)});
  EXPECT_TRUE(sent.empty()) << sent.front();
  EXPECT_EQ(store::digest(access_.store), before);
}

}  // namespace
}  // namespace tessera::mcp
