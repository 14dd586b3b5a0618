#include "program/mcp/server.h"

#include <cerrno>
#include <csignal>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tests/program/mcp/conversation.h"

namespace tessera::mcp {
namespace {

/// Tells its progress in two parts, and answers with its arguments; refuses those with "bad".
Tool echo() {
  return {.name = "echo",
          .help = "Says it again",
          .doing = "Echoing",
          .schema = {{"type", "object"}},
          .call = [](const nlohmann::json& arguments, const OnProgress& on_progress) {
            for (const int64_t of : {3, 5})
              for (int64_t done = 1; done <= of; ++done) on_progress(done, of);
            if (arguments.contains("bad")) throw UsageError("'bad' is not an argument");
            return Json(arguments);
          }};
}

std::vector<Json> talk(const std::vector<std::string>& lines) {
  return conversation({echo()}, lines);
}

Json only(const std::vector<Json>& sent) {
  EXPECT_EQ(sent.size(), 1u);
  return sent.empty() ? Json() : sent.front();
}

int code_of(const std::vector<std::string>& lines) {
  const auto sent = talk(lines);
  return sent.empty() || !sent.back().contains("error") ? 0
                                                        : sent.back()["error"]["code"].get<int>();
}

std::string initialize(const std::string& revision) {
  return R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" +
         revision + R"(","capabilities":{},"clientInfo":{"name":"test","version":"1"}}})";
}

const std::string kList = R"({"jsonrpc":"2.0","id":"list","method":"tools/list"})";

TEST(McpServer, ARequestOfTheLatestRevisionNeedsNoSession) {
  const auto sent = talk({request(1, "server/discover"), request("a", "tools/list"),
                          call(2, "echo", {{"text", "hello"}})});
  ASSERT_EQ(sent.size(), 3u);
  const Json discovered = sent[0]["result"];
  EXPECT_EQ(discovered["supportedVersions"], Json::array({"2026-07-28"}));
  EXPECT_EQ(discovered["capabilities"], Json({{"tools", Json::object()}}));
  EXPECT_EQ(discovered["resultType"], "complete");
  EXPECT_EQ(discovered["cacheScope"], "public");
  EXPECT_EQ(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "tessera");
  EXPECT_EQ(sent[1]["id"], "a");
  EXPECT_EQ(sent[1]["result"]["tools"][0]["name"], "echo");
  EXPECT_GT(sent[1]["result"]["ttlMs"], 0);
  const Json result = sent[2]["result"];
  EXPECT_EQ(result["structuredContent"], Json({{"text", "hello"}}));
  EXPECT_EQ(Json::parse(result["content"][0]["text"].get<std::string>()),
            result["structuredContent"]);
  EXPECT_FALSE(result.contains("isError") || result.contains("ttlMs"));
}

TEST(McpServer, EarlierRevisionsBeginWithInitialize) {
  for (const auto& [asked, agreed] :
       std::vector<std::pair<std::string, std::string>>{{"2025-11-25", "2025-11-25"},
                                                        {"2024-11-05", "2024-11-05"},
                                                        {"2025-03-26", "2025-11-25"},
                                                        {"2030-01-01", "2025-11-25"}}) {
    const auto sent =
        talk({initialize(asked), R"({"jsonrpc":"2.0","method":"notifications/initialized"})", kList,
              R"({"jsonrpc":"2.0","id":9,"method":"ping"})"});
    ASSERT_EQ(sent.size(), 3u);
    EXPECT_EQ(sent[0]["result"]["protocolVersion"], agreed);
    EXPECT_EQ(sent[0]["result"]["serverInfo"]["name"], "tessera");
    EXPECT_THAT(sent[0]["result"]["instructions"].get<std::string>(), HasSubstr("recall"));
    EXPECT_FALSE(sent[0]["result"].contains("resultType"));
  }
}

TEST(McpServer, PingIsAnsweredBeforeWhatWaits) {
  const auto sent = talk({initialize("2025-11-25"), kList, call(3, "echo"),
                          R"({"jsonrpc":"2.0","id":9,"method":"ping"})"});
  std::vector<Json> ids;
  for (const auto& message : sent) ids.push_back(message["id"]);
  EXPECT_THAT(ids, ElementsAre(0, "list", 9, 3));  // in the middle of the call
  EXPECT_EQ(sent[2]["result"], Json::object());
}

/// What JavaScript sends of texts that it has cut: its client waits for an answer with the id.
TEST(McpServer, HalvesOfCharactersAreRefusedUnderTheIdOfTheirRequest) {
  const std::string texts[] = {R"(\ud83d)",       R"(a\ud83d b)",          R"(\udc00)",
                               R"(\uD83D\u0041)", R"(\ud83d\ud83d\ude00)", R"(\\\ud83d)"};
  for (const auto& text : texts) {
    const auto sent = talk(
        {R"({"jsonrpc":"2.0","id":"cut","method":"tools/call","params":{"a":")" + text + "\"}}"});
    EXPECT_EQ(sent.at(0)["id"], "cut") << text;
    EXPECT_THAT(sent[0]["error"]["message"].get<std::string>(), HasSubstr("half a character"));
  }
  EXPECT_TRUE(talk({R"({"jsonrpc":"2.0","id":"cut","a":"\ud83d" x})"}).at(0)["id"].is_null());
  // A whole character, and a backslash before "ud83d".
  EXPECT_EQ(code_of({initialize("2025-11-25"),
                     R"({"jsonrpc":"2.0","id":1,"method":"\ud83d\ude00\\ud83d"})"}),
            -32601);
}

TEST(McpServer, ErrorsOfTheProtocolHaveTheirCodes) {
  EXPECT_EQ(code_of({"nonsense"}), -32700);
  EXPECT_EQ(code_of({std::string(200, '[') + std::string(200, ']')}), -32700);
  EXPECT_EQ(code_of({"\"\xff\""}), -32700);
  EXPECT_EQ(code_of({"[" + request(1, "tools/list") + "]"}), -32600);
  EXPECT_EQ(code_of({"42"}), -32600);
  EXPECT_EQ(code_of({R"({"id":1,"method":"tools/list"})"}), -32600);
  EXPECT_EQ(code_of({R"({"jsonrpc":"2.0","id":1.5,"method":"tools/list"})"}), -32600);
  EXPECT_EQ(code_of({R"({"jsonrpc":"2.0","id":1,"method":7})"}), -32600);
  EXPECT_EQ(code_of({R"({"jsonrpc":"2.0","id":1})"}), -32600);
  EXPECT_EQ(code_of({R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]})"}), -32600);
  EXPECT_EQ(code_of({request(1, "resources/list")}), -32601);
  EXPECT_EQ(code_of({request(1, "notifications/cancelled", {{"requestId", 2}})}), -32601);
  EXPECT_EQ(code_of({request(1, "ping")}), -32601);  // is no method of this revision any more
  EXPECT_EQ(
      code_of({initialize("2025-11-25"), R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})"}),
      -32601);
  EXPECT_EQ(code_of({kList}), -32602);  // neither a session nor a revision
  EXPECT_EQ(code_of({call(1, "nothing")}), -32602);
  EXPECT_EQ(code_of({request(1, "tools/call", {{"name", "echo"}, {"arguments", 3}})}), -32602);
  EXPECT_EQ(code_of({R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":)"
                     R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})"}),
            -32602);  // without the client's capabilities
  EXPECT_EQ(code_of({request(1, "tools/list", {{"cursor", "a"}})}), -32602);
}

TEST(McpServer, AnUnknownRevisionIsToldTheKnownOnes) {
  Json params;
  params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1900-01-01";
  const Json error = only(talk(
      {Json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "tools/list"}, {"params", params}}.dump()}));
  EXPECT_EQ(error["error"]["code"], -32022);
  EXPECT_EQ(error["error"]["data"]["supported"], Json::array({"2026-07-28"}));
  EXPECT_EQ(error["error"]["data"]["requested"], "1900-01-01");
}

TEST(McpServer, AnErrorNamesItsRequestWhereItCouldBeRead) {
  EXPECT_EQ(only(talk({R"({"jsonrpc":"1.0","id":"x","method":"tools/list"})"}))["id"], "x");
  for (const char* unreadable : {"{", "[]", R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"}) {
    const Json error = only(talk({unreadable}));
    ASSERT_TRUE(error.contains("id")) << unreadable;
    EXPECT_TRUE(error["id"].is_null()) << unreadable;
  }
}

TEST(McpServer, GoesOnAfterHostileLines) {
  const auto sent =
      talk({"\x01\x02", "", " \r", std::string((1 << 24) + 1, 'x'), "{}", "null",
            // Answers to nothing, of which two are wrong.
            R"({"jsonrpc":"2.0","id":1,"result":{}})",
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}})",
            R"({"id":2,"result":{}})", R"({"jsonrpc":"2.0","method":"notifications/unheard"})",
            cancelled(77), R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{}})",
            request(5, "tools/list") + "\r"});
  ASSERT_EQ(sent.size(), 5u);
  EXPECT_THAT(sent[1]["error"]["message"].get<std::string>(), HasSubstr("16777216 bytes"));
  EXPECT_EQ(sent[4]["id"], 5);
}

TEST(McpServer, WhatAToolRefusesIsAResultForTheAssistant) {
  const Json result = only(talk({call(1, "echo", {{"bad", 1}})}))["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["content"][0]["text"], "'bad' is not an argument");
  EXPECT_EQ(result["resultType"], "complete");
}

TEST(McpServer, BytesThatAreNotUtf8AreSentAsReplacements) {
  Tool tool = echo();
  tool.call = [](const nlohmann::json&, const OnProgress&) { return Json{{"text", "\xff"}}; };
  const auto sent = conversation({tool}, {call(1, "echo")});
  EXPECT_EQ(only(sent)["result"]["structuredContent"]["text"], std::string("\uFFFD"));
}

TEST(McpServer, ProgressOnlyGrowsAndNamesItsToken) {
  Json params = {{"name", "echo"}, {"arguments", Json::object()}};
  params["_meta"]["progressToken"] = "p";
  const auto sent = talk({request(1, "tools/call", params)});
  ASSERT_GE(sent.size(), 2u);
  EXPECT_EQ(sent.back()["id"], 1);
  int64_t before = 0;
  for (size_t i = 0; i + 1 < sent.size(); ++i) {
    const Json note = sent[i]["params"];
    EXPECT_EQ(sent[i]["method"], "notifications/progress");
    EXPECT_EQ(note["progressToken"], "p");
    EXPECT_EQ(note["message"], "Echoing");
    EXPECT_GT(note["progress"], before);
    before = note["progress"];
  }
  EXPECT_EQ(talk({call(1, "echo")}).size(), 1u);
}

TEST(McpServer, AnEditIsFinishedAlthoughNobodyHearsOfItsProgressOrOfAPing) {
  Json params = {{"name", "echo"}, {"arguments", Json::object()}};
  const std::string pinged =
      call(1, "echo") + "\n" + R"({"jsonrpc":"2.0","id":"ping","method":"ping"})" + "\n";
  params["_meta"]["progressToken"] = "p";
  const std::string told = request(1, "tools/call", params) + "\n";
  for (const std::string& text : {told, pinged})
    for (const Effect effect : {Effect::kEdits, Effect::kNone}) {
      bool finished = false;
      Tool tool = echo();
      tool.effect = effect;
      tool.call = [&](const nlohmann::json&, const OnProgress& on_progress) {
        on_progress(1, 2);
        finished = true;
        return Json::object();
      };
      const TextStream stream(text);
      LineReader lines(stream.descriptor());
      Server({tool}, lines, [](const std::string& line) {
        if (line.find("notifications/progress") != std::string::npos ||
            line.find("\"ping\"") != std::string::npos)
          throw SystemError("standard output", "write", EPIPE);
      }).run();
      EXPECT_EQ(finished, effect == Effect::kEdits) << text;
    }
}

TEST(McpServer, ACancelledCallEndsAndIsNotAnswered) {
  int64_t told = 0;
  Tool endless = echo();
  endless.call = [&](const nlohmann::json&, const OnProgress& on_progress) -> Json {
    for (;;) on_progress(++told, 1000000);
  };
  // Cancelled while it is done, and while it waits; the third one is answered.
  const auto sent = conversation({endless}, {call(1, "echo"), call(2, "echo"), cancelled(2),
                                             cancelled(1), request(3, "tools/list")});
  EXPECT_EQ(only(sent)["id"], 3);
  EXPECT_EQ(told, 1);
}

TEST(McpServer, ASignalEndsACall) {
  const InterruptGuard guard;
  Tool signalled = echo();
  signalled.call = [](const nlohmann::json&, const OnProgress& on_progress) {
    std::raise(SIGTERM);
    on_progress(1, 2);
    return Json::object();
  };
  EXPECT_THROW(conversation({signalled}, {call(1, "echo")}), Interrupted);
}

TEST(McpServer, ASubscriptionToNothingIsAcknowledgedAndEnds) {
  const auto sent = talk(
      {request("s", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}})});
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0]["method"], "notifications/subscriptions/acknowledged");
  EXPECT_EQ(sent[0]["params"]["notifications"], Json::object());
  for (const Json& meta : {sent[0]["params"]["_meta"], sent[1]["result"]["_meta"]})
    EXPECT_EQ(meta["io.modelcontextprotocol/subscriptionId"], "s");
}

}  // namespace
}  // namespace tessera::mcp
