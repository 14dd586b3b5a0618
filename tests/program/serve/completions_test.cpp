// What clients send to POST /v1/completions, and every field of what they get.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/infer/generate.h"
#include "tessera/infer/scoring.h"
#include "tests/program/serve/tiny_service.h"

namespace tessera::serve {
namespace {

using ::testing::HasSubstr;

Tokens ids_of_text(const std::string& text) {
  Tokens ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

/// The text that the library writes by itself.
Generation written(LanguageModel& model, const std::string& prompt, int64_t tokens,
                   const SamplingOptions& sampling, uint64_t sequence = 0) {
  GenerateOptions options;
  options.max_tokens = tokens;
  options.sampling = sampling;
  options.end_of_text = 256;
  options.token_bytes = [](int64_t token) {
    return token < 256 ? std::string(1, static_cast<char>(token)) : std::string();
  };
  return generate(model, {{ids_of_text(prompt), sequence}}, options).front();
}

// Chat programs name no limit and expect what fits into the model's window.
TEST(Completions, TextsWithoutALimitEndAtTheWindow) {
  TinyService tiny;
  const auto tokens = [&](const std::string& path, Json body) {
    const Json reply = tiny.json(tiny.post(path, body));
    EXPECT_EQ(reply["choices"][0]["finish"], "max_tokens") << reply;
    return reply["usage"]["total_tokens"].get<int64_t>();
  };
  const Json message = {{"role", "user"}, {"content", "the king said"}};
  EXPECT_EQ(tokens("/v1/chat/completions",
                   {{"model", "gpt"}, {"messages", Json::array({message})}, {"ignore_eos", true}}),
            kGptWindow + 1);  // the last token is not read
  const std::string prompt(60, 'a');
  EXPECT_EQ(tokens("/v1/completions", {{"model", "gpt"}, {"prompt", prompt}, {"ignore_eos", true}}),
            kGptWindow + 1);
}

// As EleutherAI's lm-evaluation-harness (4e7e0d4, local-completions) asks for log-likelihoods.
TEST(Completions, ScoresAreWhatTheHarnessAsksFor) {
  TinyService tiny;
  for (const char* name : {"mosaic", "gpt"}) {
    const std::vector<Tokens> prompts = {ids_of_text("the king said"), ids_of_text("amen")};
    const Json reply = tiny.complete({{"model", name},
                                      {"prompt", prompts},
                                      {"temperature", 0},
                                      {"max_tokens", 1},
                                      {"logprobs", 1},
                                      {"seed", 1234},
                                      {"echo", true}});
    ASSERT_TRUE(reply.contains("choices")) << reply;
    EXPECT_EQ(reply["object"], "text_completion");
    EXPECT_EQ(reply["model"], name);
    ASSERT_EQ(reply["choices"].size(), 2u);
    auto& model = *tiny.service.models.find(name)->model;
    for (size_t i = 0; i < 2; ++i) {
      const Json& choice = reply["choices"][i];
      EXPECT_EQ(choice["index"], i);
      EXPECT_EQ(choice["finish_reason"], "length");
      const Json& logprobs = choice["logprobs"];
      const size_t length = prompts[i].size();
      for (const char* list : {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
        ASSERT_EQ(logprobs[list].size(), length + 1) << list;  // exactly one more than the prompt
      EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
      EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
      const auto expected = score_texts(model, {prompts[i]}, {1, {}}).front();
      for (size_t t = 1; t < length; ++t) {
        const double log_probability = logprobs["token_logprobs"][t];
        EXPECT_NEAR(log_probability, *expected[t].log_probability, 1e-6);
        double highest = -INFINITY;
        for (const auto& [token, value] : logprobs["top_logprobs"][t].items())
          highest = std::max(highest, value.get<double>());
        EXPECT_EQ(expected[t].greedy, log_probability == highest);  // the harness' is_greedy
        EXPECT_EQ(logprobs["text_offset"][t], t);
      }
      const auto next = written(model, i == 0 ? "the king said" : "amen", 1, {.temperature = 0});
      EXPECT_NEAR(logprobs["token_logprobs"][length].get<double>(), *next.tokens[0].log_probability,
                  1e-5);
    }
    EXPECT_EQ(reply["usage"],
              (Json{{"prompt_tokens", 17}, {"completion_tokens", 2}, {"total_tokens", 19}}));
  }
}

// As its back end "gguf" asks, which names no model and sends text.
TEST(Completions, TextOffsetsAreCharacters) {
  TinyService tiny;
  const std::string context = "né\n", continuation = " à €";
  const Json reply = tiny.complete({{"prompt", context + continuation},
                                    {"logprobs", 10},
                                    {"temperature", 0.0},
                                    {"max_tokens", 1},
                                    {"echo", true}});
  ASSERT_TRUE(reply.contains("choices")) << reply;
  const Json& logprobs = reply["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"][1], "bytes:\\xc3");  // a byte of é
  const std::vector<int> offsets = {0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 6, 7};
  EXPECT_EQ(logprobs["text_offset"].get<std::vector<int>>(), offsets);
  size_t index = 0;  // of the first token of the continuation, as the harness finds it
  while (logprobs["text_offset"][index] < 3) ++index;
  EXPECT_EQ(logprobs["tokens"][index], " ");
  for (size_t t = 1; t < logprobs["tokens"].size(); ++t) {
    EXPECT_GE(logprobs["top_logprobs"][t].size(), 10u);
    EXPECT_TRUE(logprobs["top_logprobs"][t].contains(logprobs["tokens"][t].get<std::string>()));
  }
}

TEST(Completions, OlderClientsScoreWithoutAToken) {
  TinyService tiny;
  const Json reply =
      tiny.complete({{"prompt", "abc"}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 0}});
  ASSERT_TRUE(reply.contains("choices")) << reply;
  const Json& choice = reply["choices"][0];
  EXPECT_EQ(choice["text"], "abc");
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["logprobs"]["tokens"], (Json{"a", "b", "c"}));
  EXPECT_EQ(choice["logprobs"]["top_logprobs"][1].size(), 1u);  // the token itself
}

TEST(Completions, AShortPromptComesBeforeItsTextThoughALongOneIsStillScored) {
  TinyService tiny;
  Json body = {{"model", "mosaic"}, {"prompt", Json::array({"amen"})},
               {"max_tokens", 3},   {"ignore_eos", true},
               {"seed", 1},         {"echo", true},
               {"logprobs", 0},     {"n", 2}};
  const Json alone = tiny.complete(body)["choices"];
  body["prompt"].push_back(std::string(3000, 'x'));
  const auto reply = tiny.complete(body);
  body["stream"] = true;
  std::vector<std::string> streamed(4);
  for (const Json& event : tiny.stream("/v1/completions", body)) {
    const Json& choice = event["choices"][0];
    const size_t index = choice["index"];
    streamed[index] += choice["text"].get<std::string>() + "|";
  }
  for (size_t i = 0; i < 2; ++i) {
    const Json& choice = reply["choices"][i];
    EXPECT_EQ(choice["text"], alone[i]["text"]);
    EXPECT_EQ(choice["logprobs"]["tokens"], alone[i]["logprobs"]["tokens"]);
    EXPECT_EQ(choice["logprobs"]["text_offset"], alone[i]["logprobs"]["text_offset"]);
    EXPECT_TRUE(choice["logprobs"]["token_logprobs"][0].is_null());
    EXPECT_TRUE(streamed[i].starts_with("amen|"));
    EXPECT_EQ(std::ranges::count(streamed[i], '|'), 4);
  }
}

TEST(Completions, TheTextIsTheOneThatTheLibraryWrites) {
  TinyService tiny;
  const SamplingOptions sampling = {.temperature = 0.9,
                                    .top_k = 100,
                                    .top_p = 0.95,
                                    .min_p = 0.001,
                                    .repetition_penalty = 1.1,
                                    .frequency_penalty = 0.2,
                                    .presence_penalty = -0.1,
                                    .logit_bias = {{97, 3.0}, {98, -100.0}},
                                    .seed = 42};
  const Json reply = tiny.complete({{"model", "mosaic"},
                                    {"prompt", "the king"},
                                    {"max_tokens", 20},
                                    {"temperature", 0.9},
                                    {"top_p", 0.95},
                                    {"top_k", 100},
                                    {"min_p", 0.001},
                                    {"repetition_penalty", 1.1},
                                    {"frequency_penalty", 0.2},
                                    {"presence_penalty", -0.1},
                                    {"logit_bias", {{"97", 3.0}, {"98", -100}}},
                                    {"seed", 42},
                                    {"n", 2},
                                    {"user", "nobody"},
                                    {"a field of another server", true}});
  ASSERT_TRUE(reply.contains("choices")) << reply;
  ASSERT_EQ(reply["choices"].size(), 2u);
  auto& model = *tiny.service.models.find("mosaic")->model;
  for (size_t sample = 0; sample < 2; ++sample)
    EXPECT_EQ(reply["choices"][sample]["text"],
              written(model, "the king", 20, sampling, sample).text);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 40);
  EXPECT_TRUE(reply["choices"][0]["logprobs"].is_null());
}

TEST(Completions, StopStringsEndATextBeforeThem) {
  TinyService tiny;
  Json body = {{"prompt", "x"}, {"max_tokens", 40}, {"seed", 3}};
  for (int letter = 'a'; letter < 'k'; ++letter) body["logit_bias"][std::to_string(letter)] = 50;
  const std::string text = tiny.complete(body)["choices"][0]["text"];
  ASSERT_EQ(text.size(), 40u);
  const std::string stop = text.substr(8, 2);
  body["stop"] = {"never", stop};
  body["echo"] = true;
  const Json reply = tiny.complete(body);
  EXPECT_EQ(reply["choices"][0]["text"], "x" + text.substr(0, text.find(stop)));
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "stop");
}

TEST(Completions, TheBestOfManyComesFirst) {
  TinyService tiny;
  const Json body = {{"prompt", "x"}, {"max_tokens", 6}, {"seed", 5}, {"logprobs", 0}};
  Json all = body, best = body;
  all["n"] = 4;
  best["best_of"] = 4;
  best["n"] = 2;
  const auto mean = [](const Json& choice) {
    double sum = 0;
    for (const Json& value : choice["logprobs"]["token_logprobs"]) sum += value.get<double>();
    return sum / static_cast<double>(choice["logprobs"]["token_logprobs"].size());
  };
  std::vector<double> means;
  const Json everything = tiny.complete(all);
  for (const Json& choice : everything["choices"]) means.push_back(mean(choice));
  std::sort(means.rbegin(), means.rend());
  const Json reply = tiny.complete(best);
  ASSERT_EQ(reply["choices"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(reply["choices"][i]["index"], i);
    EXPECT_NEAR(mean(reply["choices"][i]), means[i], 1e-5);
  }
  EXPECT_EQ(reply["usage"]["completion_tokens"], 24);
}

TEST(Completions, AStreamBringsTheSameInPieces) {
  TinyService tiny;
  const Json body = {{"model", "mosaic"},
                     {"prompt", {"the king", "amen"}},
                     {"max_tokens", 12},
                     {"seed", 1},
                     {"logprobs", 1},
                     {"echo", true},
                     {"n", 2}};
  const Json whole = tiny.complete(body);
  Json streamed = body;
  streamed["stream"] = true;
  const auto events = tiny.stream("/v1/completions", streamed);
  ASSERT_GT(events.size(), 3u);
  std::vector<std::string> texts(4);
  std::vector<size_t> tokens(4);
  std::vector<std::string> finish(4);
  for (const Json& event : events) {
    EXPECT_EQ(event["id"], events[0]["id"]);
    EXPECT_EQ(event["object"], "text_completion");
    ASSERT_EQ(event["choices"].size(), 1u);
    const Json& choice = event["choices"][0];
    const size_t index = choice["index"];
    texts.at(index) += choice["text"].get<std::string>();
    tokens[index] += choice["logprobs"]["tokens"].size();
    if (choice["finish_reason"].is_string()) finish[index] = choice["finish_reason"];
  }
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(whole["choices"][i]["text"], texts[i]);
    EXPECT_EQ(tokens[i], whole["choices"][i]["logprobs"]["tokens"].size());
    EXPECT_EQ(whole["choices"][i]["finish_reason"], finish[i]);
  }
  EXPECT_EQ(events.back()["usage"], whole["usage"]);

  streamed["stream_options"] = {{"include_usage", true}};
  const auto apart = tiny.stream("/v1/completions", streamed);
  EXPECT_TRUE(apart.back()["choices"].empty());
  EXPECT_EQ(apart.back()["usage"], whole["usage"]);
  EXPECT_TRUE(apart.front()["usage"].is_null());
}

/// A prompt after which the mosaic is made to write these ids, one after another.
Json forced(const std::string& prompt, const std::vector<int64_t>& ids) {
  Json body = {{"model", "mosaic"}, {"prompt", prompt}, {"temperature", 0}};
  body["max_tokens"] = ids.size();
  for (const int64_t id : ids) body["logit_bias"][std::to_string(id)] = 100;
  body["frequency_penalty"] = 2;
  return body;
}

TEST(Completions, EveryEventOfAStreamIsOneToken) {
  TinyService tiny;
  // é in two tokens, in whichever order they come: the text of an event may be empty.
  Json body = forced("x", {0xC3, 0xA9, 0xC3, 0xA9, 'z', 'z'});
  body["stream"] = true;
  body["return_token_ids"] = true;
  for (const bool logprobs : {false, true}) {
    if (logprobs) body["logprobs"] = 0;
    const auto events = tiny.stream("/v1/completions", body);
    ASSERT_EQ(events.size(), 6u);
    Json whole = body;
    whole["stream"] = false;
    const Json choice = tiny.complete(whole)["choices"][0];
    std::string text;
    for (size_t i = 0; i < events.size(); ++i) {
      const Json& piece = events[i]["choices"][0];
      text += piece["text"].get<std::string>();
      EXPECT_EQ(piece["token_ids"], Json({choice["token_ids"][i]}));
      EXPECT_EQ(piece.contains("prompt_token_ids"), i == 0);
      EXPECT_EQ(piece["finish_reason"].is_null(), i + 1 < events.size());
      EXPECT_EQ(piece["logprobs"].is_null(), !logprobs);
      EXPECT_TRUE(!logprobs || piece["logprobs"]["tokens"].size() == 1);
    }
    EXPECT_EQ(choice["text"], text);
    EXPECT_EQ(events[0]["choices"][0]["prompt_token_ids"], Json({'x'}));
  }
  body["echo"] = true;  // one event more, with the prompt
  body["n"] = 2;
  EXPECT_EQ(tiny.stream("/v1/completions", body).size(), 2u * 7u);
}

TEST(Completions, TokenIdsWhereAClientAsksForThem) {
  TinyService tiny;
  const Json asked = {{"prompt", "ab"}, {"max_tokens", 5}, {"seed", 3}};
  const Json without = tiny.complete(asked)["choices"][0];
  EXPECT_FALSE(without.contains("token_ids") || without.contains("prompt_token_ids"));
  Json with = asked;
  with["return_token_ids"] = true;
  const Json choice = tiny.complete(with)["choices"][0];
  EXPECT_EQ(choice["prompt_token_ids"], (Json{97, 98}));
  ASSERT_EQ(choice["token_ids"].size(), 5u);
  Json chat = {{"messages", {{{"role", "user"}, {"content", "a"}}}},
               {"max_tokens", 3},
               {"seed", 3},
               {"return_token_ids", true}};
  const Json reply = tiny.json(tiny.post("/v1/chat/completions", chat));
  EXPECT_EQ(reply["prompt_token_ids"].size(), reply["usage"]["prompt_tokens"].get<size_t>());
  EXPECT_EQ(reply["choices"][0]["token_ids"].size(), 3u);
  chat["stream"] = true;
  const auto events = tiny.stream("/v1/chat/completions", chat);
  ASSERT_EQ(events.size(), 4u);  // the first says who speaks
  EXPECT_EQ(events[0]["prompt_token_ids"], reply["prompt_token_ids"]);
  EXPECT_FALSE(events[1].contains("prompt_token_ids"));
}

// As the openai client sends a chat.
TEST(Completions, AChatIsItsTranscript) {
  TinyService tiny;
  const Json body = {{"messages",
                      {{{"role", "system"}, {"content", "Be brief."}},
                       {{"role", "user"}, {"content", {{{"type", "text"}, {"text", "Who?"}}}}}}},
                     {"model", "mosaic"},
                     {"max_completion_tokens", 8},
                     {"seed", 9},
                     {"logprobs", true},
                     {"top_logprobs", 2}};
  const Json reply = tiny.json(tiny.post("/v1/chat/completions", body));
  ASSERT_TRUE(reply.contains("choices")) << reply;
  EXPECT_EQ(reply["object"], "chat.completion");
  const Json& choice = reply["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  const std::string prompt = "system: Be brief.\n\nuser: Who?\n\nassistant:";
  auto& model = *tiny.service.models.find("mosaic")->model;
  EXPECT_EQ(choice["message"]["content"], written(model, prompt, 8, {.seed = 9}).text);
  ASSERT_EQ(choice["logprobs"]["content"].size(), 8u);
  const Json& token = choice["logprobs"]["content"][0];
  EXPECT_TRUE(token["token"].is_string());
  EXPECT_LT(token["logprob"], 0);
  EXPECT_EQ(token["bytes"].size(), 1u);
  EXPECT_EQ(token["top_logprobs"].size(), 2u);
  EXPECT_EQ(reply["usage"]["prompt_tokens"], prompt.size());

  Json streamed = body;
  streamed["stream"] = true;
  const auto events = tiny.stream("/v1/chat/completions", streamed);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0]["object"], "chat.completion.chunk");
  const Json& first = events[0]["choices"][0];
  EXPECT_EQ(first["delta"], (Json{{"role", "assistant"}, {"content", ""}}));
  EXPECT_TRUE(first["logprobs"].is_null() && first["finish_reason"].is_null());
  EXPECT_EQ(events[1]["choices"][0]["logprobs"]["content"].size(), 1u);
  std::string text;
  for (const Json& event : events)
    text += event["choices"][0]["delta"].value("content", std::string());
  EXPECT_EQ(choice["message"]["content"], text);
}

struct Refused {
  const char* body;
  int status;
  const char* param;
  const char* message;
};

TEST(Completions, WhatMakesNoSenseIsRefusedByName) {
  TinyService tiny;
  const Refused cases[] = {
      {R"([1])", 400, "", "expected a JSON object"},
      {R"({"prompt":)", 400, "", "the request's body"},
      {R"({})", 400, "prompt", "'prompt' is missing"},
      {R"({"prompt":[]})", 400, "prompt", "a list of strings"},
      {R"({"prompt":[[1],-1]})", 400, "prompt", "a list of strings"},
      {R"({"prompt":[[1.5]]})", 400, "prompt", "a list of strings"},
      {R"({"prompt":[257]})", 400, "prompt", "token 257, the model's ids go up to 256"},
      {R"({"prompt":"a","model":"moses"})", 404, "model", "only mosaic, gpt"},
      {R"({"prompt":"a","model":7})", 400, "model", "'model' is 7, expected a string"},
      {R"({"prompt":"a","max_tokens":-1})", 400, "max_tokens", "from 0 on"},
      {R"({"prompt":"a","max_tokens":1e3})", 400, "max_tokens", "a whole number"},
      {R"({"prompt":"a","max_tokens":9223372036854775807})", 413, "max_tokens", "in all"},
      {R"({"prompt":["a","b"],"max_tokens":5000,"best_of":128})", 413, "max_tokens", "in all"},
      {R"({"prompt":"a","max_tokens":8000,"n":128,"logprobs":20})", 413, "", "--max-answer"},
      {R"({"prompt":"a","temperature":"hot"})", 400, "temperature", "from 0 on"},
      {R"({"prompt":"a","temperature":-0.1})", 400, "temperature", "from 0 on"},
      {R"({"prompt":"a","top_p":0})", 400, "top_p", "above 0"},
      {R"({"prompt":"a","top_k":-2})", 400, "top_k", "from -1 on"},
      {R"({"prompt":"a","min_p":2})", 400, "min_p", "from 0 to 1"},
      {R"({"prompt":"a","repetition_penalty":0})", 400, "repetition_penalty", "from 0.001"},
      {R"({"prompt":"a","frequency_penalty":3})", 400, "frequency_penalty", "from -2 to 2"},
      {R"({"prompt":"a","logit_bias":{"x":1}})", 400, "logit_bias", "token ids"},
      {R"({"prompt":"a","logit_bias":{"5":101}})", 400, "logit_bias", "-100 to 100"},
      {R"({"prompt":"a","logit_bias":{"300":1}})", 400, "logit_bias", "go up to 256"},
      {R"({"prompt":"a","logprobs":21})", 400, "logprobs", "from 0 to 20"},
      {R"({"prompt":"a","logprobs":true})", 400, "logprobs", "from 0 to 20"},
      {R"({"prompt":"a","n":0})", 400, "n", "from 1"},
      {R"({"prompt":"a","n":3,"best_of":2})", 400, "best_of", "at least 'n'"},
      {R"({"prompt":"a","best_of":2,"stream":true})", 400, "best_of", "streamed"},
      {R"({"prompt":"a","suffix":"z"})", 400, "suffix", "not supported"},
      {R"({"prompt":"a","stop":[""]})", 400, "stop", "not empty"},
      {R"({"prompt":"a","stop":{"a":1}})", 400, "stop", "a list of strings"},
      {R"({"prompt":"a","stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15",
          "16","17"]})",
       400, "stop", "at most 16"},
      {R"({"prompt":"a","echo":"yes"})", 400, "echo", "true or false"},
      {R"({"prompt":"a","seed":1.5})", 400, "seed", "a whole number"},
      {R"({"prompt":"a","stream_options":[]})", 400, "stream_options", "expected a JSON object"},
      {R"({"prompt":"a","response_format":"text"})", 400, "response_format", "is \"text\""},
      {R"({"prompt":"a","model":"gpt","max_tokens":65})", 400, "", "it reads at most 64"},
  };
  for (const Refused& refused : cases) {
    const Response response = tiny.ask("POST", "/v1/completions", refused.body);
    EXPECT_EQ(response.status, refused.status) << refused.body << response.body;
    const Json error = Json::parse(response.body)["error"];
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(refused.message)) << refused.body;
    EXPECT_EQ(error["param"].is_null() ? "" : error["param"].get<std::string>(), refused.param)
        << refused.body;
    EXPECT_TRUE(error["type"].is_string() && error.contains("code"));
  }
  EXPECT_EQ(tiny.ask("POST", "/v1/completions", "{}", "text/plain").status, 415);
  EXPECT_EQ(tiny.ask("GET", "/v1/completions").status, 405);
  EXPECT_EQ(tiny.ask("GET", "/v2/completions").status, 404);
  const Response without_version = tiny.ask("POST", "/completions", "{}");
  EXPECT_EQ(without_version.status, 404);
  EXPECT_THAT(without_version.body, HasSubstr("did you mean /v1/completions?"));
}

TEST(Completions, NullsAreDefaultsAndEmptyPromptsBeginAText) {
  TinyService tiny;
  const Json reply = tiny.complete({{"prompt", ""},
                                    {"max_tokens", 2},
                                    {"temperature", nullptr},
                                    {"stop", nullptr},
                                    {"suffix", nullptr},
                                    {"logit_bias", nullptr},
                                    {"stream", nullptr}});
  ASSERT_TRUE(reply.contains("choices")) << reply;
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 1);  // the end of text
}

TEST(Completions, EndWhereTheirTimeIsOverOrNobodyWaits) {
  TinyService tiny;
  Json request = {{"prompt", "a"}, {"max_tokens", 100000}, {"ignore_eos", true}};
  EXPECT_EQ(tiny.ask_and_leave("POST", "/v1/completions", request.dump()).status, 503);
  tiny.service.limits.request_seconds = 0.2;
  const Response late = tiny.post("/v1/completions", request);
  EXPECT_EQ(late.status, 503);
  EXPECT_THAT(late.body, HasSubstr("--request-seconds allows more"));
  request["stream"] = true;
  RecordedEvents recorded;
  tiny.post("/v1/completions", request).events(recorded);
  EXPECT_THAT(recorded.events.back(), HasSubstr("--request-seconds allows more"));
}

TEST(Completions, RefuseLongStopTextsAndManyBiasesInManyTexts) {
  TinyService tiny;
  Json request = {{"prompt", "a"}, {"max_tokens", 1}, {"n", 70}, {"stop", std::string(1000, 'x')}};
  EXPECT_EQ(tiny.post("/v1/completions", request).status, 200);
  request["stop"] = std::string(1000000, 'x');
  const Response refused = tiny.post("/v1/completions", request);
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(refused.body, HasSubstr("'stop' and 'logit_bias' take 70.0 MB"));
  request["stop"] = nullptr;
  request["n"] = 128;
  for (int64_t token = 0; token < 8200; ++token) request["logit_bias"][std::to_string(token)] = 1;
  EXPECT_EQ(tiny.post("/v1/completions", request).status, 413);
}

TEST(Completions, RefuseAFormatThatNothingHoldsThemTo) {
  TinyService tiny;
  Json request = {{"prompt", "a"}, {"max_tokens", 1}, {"response_format", {{"type", "text"}}}};
  EXPECT_EQ(tiny.post("/v1/completions", request).status, 200);
  request["response_format"]["type"] = "json_object";
  const Response refused = tiny.post("/v1/completions", request);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("'response_format' asks for 'json_object'"));
}

}  // namespace
}  // namespace tessera::serve
