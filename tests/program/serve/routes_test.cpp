// Tokenizers, inspection, runs, plans and the page, as clients ask for them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <thread>

#include "program/serve/completion_request.h"
#include "tessera/infer/inspection.h"
#include "tests/program/serve/tiny_service.h"
#include "tests/support/temporary_folder.h"

namespace tessera::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// As RemoteTokenizer of lm-evaluation-harness asks.
TEST(Routes, ATokenizerOverTheNetwork) {
  TinyService tiny;
  const Json info = tiny.json(tiny.ask("GET", "/tokenizer_info"));
  EXPECT_EQ(info["eos_token"], "<|endoftext|>");
  EXPECT_TRUE(info["bos_token"].is_null());
  EXPECT_TRUE(info["pad_token"].is_null());
  EXPECT_EQ(info["chat_template"], kChatTemplate);
  const auto tokens = [&](const std::string& text) {
    return tiny.json(tiny.post("/tokenize", {{"prompt", text}, {"add_special_tokens", false}}));
  };
  EXPECT_EQ(tokens("test")["tokens"], (Json{116, 101, 115, 116}));
  EXPECT_EQ(tokens("<|endoftext|>")["tokens"], (Json::array({256})));
  EXPECT_EQ(tokens("")["tokens"], Json::array());
  const Json text = tiny.json(tiny.post("/detokenize", {{"tokens", {116, 195, 169, 256}}}));
  EXPECT_EQ(text["prompt"], "té<|endoftext|>");
  EXPECT_EQ(tiny.post("/detokenize", {{"tokens", {300}}}).status, 400);
  EXPECT_EQ(tiny.post("/detokenize", {{"tokens", "a"}}).status, 400);
  EXPECT_EQ(tiny.post("/tokenize", {{"text", "a"}}).status, 400);
  EXPECT_EQ(tiny.ask("GET", "/tokenizer_info?model=none").status, 404);
}

TEST(Routes, ATokenizerHasTheLimitOfARequest) {
  TinyService tiny;
  tiny.service.limits.tokens_per_request = 100;
  for (const size_t tokens : {100, 101}) {
    const int expected = tokens == 100 ? 200 : 413;
    EXPECT_EQ(tiny.post("/tokenize", {{"prompt", std::string(tokens, 'a')}}).status, expected);
    EXPECT_EQ(tiny.post("/detokenize", {{"tokens", std::vector<int64_t>(tokens, 'a')}}).status,
              expected);
  }
}

TEST(Routes, EachModelHasAnAddressOfItsOwn) {
  TinyService tiny;
  const auto models = [&](const std::string& path) {
    std::vector<std::string> names;
    const Json list = tiny.json(tiny.ask("GET", path));
    for (const Json& model : list["data"]) names.push_back(model["id"]);
    return names;
  };
  EXPECT_THAT(models("/v1/models"), ElementsAre("mosaic", "gpt"));
  EXPECT_THAT(models("/models/gpt/v1/models"), ElementsAre("gpt"));
  const Json request = {{"prompt", "the"}, {"max_tokens", 2}, {"seed", 1}};
  Json named = request;
  named["model"] = "gpt";
  const Json expected = tiny.json(tiny.post("/v1/completions", named))["choices"];
  for (const Json& body : {request, named})
    EXPECT_EQ(tiny.json(tiny.post("/models/gpt/v1/completions", body))["choices"], expected);
  named["model"] = "mosaic";
  const Response other = tiny.post("/models/gpt/v1/completions", named);
  EXPECT_EQ(other.status, 400);
  EXPECT_THAT(other.body, HasSubstr("the address is that of 'gpt'"));
  EXPECT_EQ(tiny.json(tiny.ask("GET", "/models/gpt/tokenizer_info"))["model"], "gpt");
  EXPECT_EQ(tiny.json(tiny.ask("GET", "/tokenizer_info"))["model"], "mosaic");
  EXPECT_EQ(tiny.post("/models/none/v1/completions", request).status, 404);
}

TEST(Routes, WhichMemoriesMadeAToken) {
  TinyService tiny;
  const Json reply = tiny.json(tiny.post("/v1/inspect", {{"model", "mosaic"},
                                                         {"text", "the king the"},
                                                         {"position", 6},
                                                         {"memories", 3},
                                                         {"alternatives", 4}}));
  ASSERT_TRUE(reply.contains("layers")) << reply;
  Tokens text;
  for (const char c : std::string("the king the")) text.push_back(c);
  const Inspection expected =
      inspect(*tiny.service.models.find("mosaic")->model, text, 6, {3, 4, {}});
  EXPECT_EQ(reply["token"]["text"], "g");
  EXPECT_DOUBLE_EQ(reply["logit"], expected.logit);
  EXPECT_EQ(reply["tokens"].size(), 12u);
  EXPECT_EQ(reply["tokens"][0], (Json{{"id", 't'}, {"text", "t"}}));
  EXPECT_EQ(reply["alternatives"].size(), 4u);
  double sum = reply["embedding"].get<double>() + reply["biases"].get<double>();
  for (const Json& layer : reply["layers"]) {
    sum += layer["persistent_memory"].get<double>();
    for (const Json& head : layer["heads"]) {
      sum += head["logit"].get<double>();
      ASSERT_EQ(head["memories"].size(), 3u);
      const Json& memory = head["memories"][0];
      EXPECT_LT(memory["position"], 6);
      EXPECT_GE(memory["weight"], head["memories"][1]["weight"]);
    }
  }
  EXPECT_NEAR(sum, expected.logit, 1e-4);  // the parts are all there is
  Json tokens = Json::array();
  for (const int64_t token : text) tokens.push_back(token);
  const Json of_tokens = tiny.json(tiny.post("/v1/inspect", {{"model", "mosaic"},
                                                             {"tokens", tokens},
                                                             {"token", "g"},
                                                             {"position", 6},
                                                             {"memories", 3},
                                                             {"alternatives", 4}}));
  EXPECT_EQ(of_tokens, reply);
  EXPECT_EQ(tiny.post("/v1/inspect", {{"text", "ab"}, {"token", "two"}}).status, 400);
  EXPECT_EQ(tiny.post("/v1/inspect", {{"text", ""}}).status, 400);
  EXPECT_EQ(tiny.post("/v1/inspect", {{"text", "ab"}, {"position", 2}}).status, 400);
  EXPECT_EQ(tiny.post("/v1/inspect", {{"tokens", {1, 999}}}).status, 400);
  EXPECT_THAT(tiny.post("/v1/inspect", {{"tokens", std::vector<int64_t>(4097, 'a')}}).body,
              HasSubstr("expected at most 4096"));
}

TEST(Routes, AnInspectionThatNobodyWaitsForIsGivenUp) {
  TinyService tiny;
  std::promise<void> go_on;
  EngineRequest busy;
  busy.calls.push_back({[&] { go_on.get_future().wait(); }});
  busy.on_failure = [](std::exception_ptr) {};
  const auto ticket = tiny.service.models.find("mosaic")->engine->submit(std::move(busy));
  EXPECT_EQ(tiny.ask_and_leave("POST", "/v1/inspect", R"({"text": "ab"})").status, 503);
  go_on.set_value();
  EXPECT_EQ(tiny.post("/v1/inspect", {{"text", "ab"}}).status, 200);
}

TEST(Routes, RunsAndTheirMetricsAsTheyGrow) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "tiny");
  std::filesystem::create_directories(folder / "empty");
  std::ofstream(folder / "tiny/metrics.jsonl") << "{\"step\":1}\n{\"step\":2}\n{\"st";
  std::filesystem::create_symlink("loop", folder / "loop");  // leads nowhere
  std::filesystem::create_symlink("model", folder / "tiny/model");
  TinyService tiny;
  tiny.service.runs = folder.path().native();
  const Json runs = tiny.json(tiny.ask("GET", "/v1/runs"));
  ASSERT_EQ(runs["data"].size(), 1u);
  EXPECT_EQ(runs["data"][0]["id"], "tiny");
  EXPECT_EQ(runs["data"][0]["last"]["step"], 2);
  EXPECT_EQ(runs["data"][0]["has_model"], false);
  EXPECT_EQ(runs["data"][0]["has_report"], false);
  EXPECT_EQ(tiny.ask("GET", "/v1/runs/tiny/metrics").body, "{\"step\":1}\n{\"step\":2}\n");
  EXPECT_EQ(tiny.ask("GET", "/v1/runs/tiny/config").status, 404);
  std::ofstream(folder / "tiny/config.toml") << "[train]\nsteps = 3\n";
  EXPECT_EQ(tiny.json(tiny.ask("GET", "/v1/runs/tiny/config"))["train"]["steps"], 3);
  std::ofstream(folder / "tiny/config.toml") << "[train\n";
  const Response damaged = tiny.ask("GET", "/v1/runs/tiny/config");
  EXPECT_EQ(damaged.status, 500);
  EXPECT_THAT(damaged.body, Not(HasSubstr("config.toml"))) << "no path of the server's";
  EXPECT_EQ(tiny.ask("GET", "/v1/runs/tiny/report").status, 404);
  std::ofstream(folder / "tiny/report.html") << "<p>";
  EXPECT_EQ(tiny.ask("GET", "/v1/runs/tiny/report").body, "<p>");
  for (const char* name : {"empty", "..", "%2e%2e", "tiny%2F..%2Ftiny", "none"})
    EXPECT_EQ(tiny.ask("GET", std::string("/v1/runs/") + name + "/metrics").status, 404) << name;

  std::filesystem::create_directories(folder / "long");
  std::ofstream(folder / "long/metrics.jsonl") << std::string(1 << 20, 'x');
  EXPECT_EQ(tiny.ask("GET", "/v1/runs/long/metrics").status, 500);
  std::filesystem::create_symlink(folder / "tiny/report.html", folder / "long/report.html");
  EXPECT_EQ(tiny.ask("GET", "/v1/runs/long/report").status, 404);
  std::filesystem::create_symlink("tiny", folder / "link");
  EXPECT_EQ(tiny.ask("GET", "/v1/runs/link/metrics").status, 200);

  RecordedEvents events(3);  // hangs up after the third
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::ofstream(folder / "tiny/metrics.jsonl", std::ios::app) << "ep\":3}\n";
  });
  tiny.ask("GET", "/v1/runs/tiny/metrics?follow=true").events(events);
  writer.join();
  EXPECT_EQ(events.events,
            (std::vector<std::string>{"{\"step\":1}", "{\"step\":2}", "{\"step\":3}"}));
  tiny.service.stopping = true;
  RecordedEvents none;
  tiny.ask("GET", "/v1/runs/tiny/metrics?follow=true").events(none);  // ends
}

TEST(Routes, Plans) {
  TinyService tiny;
  const Json asked = {{"alpha", 1.5}, {"inputs", 500}, {"outputs", 5}, {"runs", 2}};
  Json by_error = asked, by_dimension = asked;
  by_error["error"] = 0.1;
  const Json plan = tiny.json(tiny.post("/v1/plan", by_error));
  ASSERT_TRUE(plan.contains("dimension")) << plan;
  EXPECT_LE(plan["predicted_error"], 0.1);
  EXPECT_EQ(plan["simulated"]["runs"], 2);
  EXPECT_FALSE(plan["schemes"].empty());
  by_dimension["dimension"] = plan["dimension"];
  by_dimension["error_only"] = true;
  const Json same = tiny.json(tiny.post("/v1/plan", by_dimension));
  EXPECT_EQ(same["dimension"], plan["dimension"]);
  EXPECT_TRUE(same["samples"].is_null());
  EXPECT_FALSE(same.contains("schemes") || same.contains("holds"));
  EXPECT_EQ(tiny.post("/v1/plan", asked).status, 400);
  EXPECT_EQ(tiny.post("/v1/plan", {{"error", 0.1}}).status, 400);
}

TEST(Routes, APlanThatNobodyWaitsForIsGivenUp) {
  const Json to_simulate = {{"alpha", 1.5},     {"inputs", 200000}, {"outputs", 50},
                            {"dimension", 500}, {"runs", 20},       {"error_only", true}};
  const Json to_compare = {
      {"alpha", 1.5}, {"inputs", 1000000}, {"outputs", 100000}, {"dimension", 100000}, {"runs", 0}};
  TinyService tiny;
  for (const Json& body : {to_simulate, to_compare}) {
    const Response response = tiny.ask_and_leave("POST", "/v1/plan", body.dump());
    EXPECT_EQ(response.status, 503) << response.body;
    EXPECT_THAT(response.body, HasSubstr("the answer was not there in time"));
  }
}

TEST(Routes, APathIsDecodedWhereItIsEncoded) {
  TinyService tiny;
  const Response none = tiny.ask("GET", "/v1/models/%C3%a9%2F%zz%4");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("no model 'é/%zz%4'"));
}

TEST(Routes, ThePageIsPartOfTheProgram) {
  TinyService tiny;
  const Response page = tiny.ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, StartsWith("<!doctype html>"));
  bool has_policy = false;
  for (const auto& [name, value] : page.headers)
    has_policy |= name == "Content-Security-Policy" && value.find("unsafe") == std::string::npos;
  EXPECT_TRUE(has_policy);
  EXPECT_THAT(page.body, ::testing::Not(HasSubstr("<script>")));
  EXPECT_THAT(tiny.ask("GET", "/page.js").content_type, StartsWith("text/javascript"));
}

}  // namespace
}  // namespace tessera::serve
