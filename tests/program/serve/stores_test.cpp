#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tessera/base/config.h"
#include "tessera/store/question.h"
#include "tessera/store/recall.h"
#include "tessera/store/store_json.h"
#include "tests/program/serve/one_store.h"

namespace tessera::serve {
namespace {

using ::testing::HasSubstr;

class Stores : public OneStore {};

TEST_F(Stores, DocumentsComeAndGo) {
  EXPECT_EQ(get("/v1/stores")["data"][0]["documents"], 1);
  const Json listed = get(kDocuments);
  ASSERT_EQ(listed["data"].size(), 1u) << listed;
  EXPECT_EQ(listed["data"][0]["id"], "one");
  EXPECT_EQ(listed["data"][0]["tokens"], 30);  // with the end of text
  const std::string before = store::digest(folder_ / "books");

  const Json added = post(kDocuments, {{"id", "a/b c"}, {"text", "My lamp went out."}}, 201);
  EXPECT_EQ(added["outcome"], "new");
  EXPECT_EQ(added["tokens"], 18);
  EXPECT_EQ(get(kDocuments + "/a%2Fb%20c")["text"], "My lamp went out.");

  EXPECT_EQ(get(kDocuments + "?limit=1")["has_more"], true);
  EXPECT_EQ(get(kDocuments + "?limit=1&after=a/b%20c")["data"][0]["id"], "one");
  EXPECT_EQ(get(kDocuments + "?limit=0")["data"].size(), 2u);
  EXPECT_TRUE(get(kDocuments + "?after=two")["data"].empty());

  const Json again = {{"id", "one"}, {"text", "Another text."}};
  const Response taken = tiny_.post(kDocuments, again);
  EXPECT_EQ(taken.status, 409);
  EXPECT_EQ(Json::parse(taken.body)["error"]["code"], "document_exists");
  EXPECT_EQ(get(kDocuments + "/one")["text"], "The raven sat above the door.");
  EXPECT_EQ(post(kDocuments + "?replace=true", again, 201)["outcome"], "replaced");
  EXPECT_EQ(post(kDocuments + "?replace=true", again, 201)["outcome"], "unchanged");
  EXPECT_EQ(get(kDocuments + "/one")["text"], "Another text.");

  EXPECT_EQ(tiny_.json(tiny_.ask("DELETE", kDocuments + "/a%2Fb%20c"))["deleted"], true);
  EXPECT_EQ(tiny_.ask("DELETE", kDocuments + "/a%2Fb%20c").status, 404);
  const Response text = tiny_.ask("POST", kDocuments + "?replace=true", "The raven.", "text/plain");
  EXPECT_EQ(text.status, 400);  // without an id
  post(kDocuments, {{"id", "one"}, {"text", "The raven sat above the door."}, {"replace", true}},
       201);
  EXPECT_EQ(store::digest(folder_ / "books"), before);  // the very bits
}

TEST_F(Stores, WhatCannotBeStoredIsRefused) {
  EXPECT_EQ(tiny_.post(kDocuments, {{"id", "x"}, {"text", ""}}).status, 422);
  EXPECT_EQ(tiny_.post(kDocuments, {{"id", "x"}, {"text", std::string("a\0b", 3)}}).status, 422);
  const std::string like_a_file = (folder_ / "books" / "x").native();
  EXPECT_EQ(tiny_.post(kDocuments, {{"id", like_a_file}, {"text", ""}}).status, 422);
  EXPECT_EQ(tiny_.post(kDocuments, {{"id", ""}, {"text", "a"}}).status, 400);
  EXPECT_EQ(tiny_.post(kDocuments, {{"id", "x"}}).status, 400);
  EXPECT_EQ(tiny_.ask("POST", kDocuments, "<a>", "application/xml").status, 415);
  const Response other = tiny_.ask("GET", "/v1/stores/other/documents");
  EXPECT_EQ(other.status, 404);
  EXPECT_THAT(other.body, HasSubstr("there is no store 'other', expected one of: books"));
  EXPECT_THAT(TinyService().ask("GET", "/v1/stores/other/documents").body,
              HasSubstr("there is no store 'other', this server has none"));
  EXPECT_EQ(tiny_.ask("GET", kDocuments + "/..%2F..%2Fetc%2Fpasswd").status, 404);
  const Response unknown = tiny_.ask("GET", kDocuments + "/ome");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("did you mean 'one'?"));
}

TEST_F(Stores, RecitesAndNamesItsSources) {
  const Json recalled = post("/v1/stores/books/recall", {{"prompt", "The raven"}, {"tokens", 100}});
  EXPECT_EQ(recalled["text"], " sat above the door.") << recalled;
  EXPECT_EQ(recalled["finish"], "end_of_text");
  ASSERT_EQ(recalled["tokens"].size(), 20u);
  const Json& first = recalled["tokens"][0];
  EXPECT_EQ(first["text"], " ");
  EXPECT_EQ(first["sources"][0]["document"], "one");
  EXPECT_EQ(first["sources"][0]["position"], 9);
  EXPECT_GT(first["probability"], 0.99);
  EXPECT_EQ(first["sources"][0]["byte"], 9);
  EXPECT_EQ(first["sources"][0]["line"], 1);
  const store::MemoStore opened(folder_ / "books");
  const store::Question question = store::read_question(opened, "The raven");
  EXPECT_EQ(recalled, store::json_of(opened, "The raven", question,
                                     store::recall(opened, question.tokens, {.tokens = 100})));
  EXPECT_EQ(tiny_.post("/v1/stores/books/recall", {{"prompt", ""}}).status, 400);
}

TEST_F(Stores, IsAModelWhoseScoresAreItsDecoders) {
  const std::string text = "The raven sat";
  const Json reply = tiny_.complete({{"model", "books"},
                                     {"prompt", text},
                                     {"max_tokens", 1},
                                     {"temperature", 0},
                                     {"logprobs", 1},
                                     {"echo", true}});
  ASSERT_TRUE(reply.contains("choices")) << reply;
  const Json& logprobs = reply["choices"][0]["logprobs"];
  ASSERT_EQ(logprobs["tokens"].size(), text.size() + 1);
  const store::MemoStore opened(folder_ / "books");
  const store::StoreReader reader(opened);
  const TokenIds ids(text.begin(), text.end());
  for (size_t t = 1; t < text.size(); ++t) {
    const std::span<const int64_t> read = std::span(ids).first(t);
    EXPECT_NEAR(logprobs["token_logprobs"][t].get<double>(),
                reader.predict({&read, 1}).front().logits[ids[t]], 1e-6)
        << t;
  }
  EXPECT_EQ(logprobs["tokens"].back(), " ");

  const std::string complete = "/v1/stores/books/complete";
  const Json asked = {{"prompt", "The raven sat"}, {"max_tokens", 40}, {"temperature", 0}};
  const Json written = post(complete, asked);
  EXPECT_EQ(written["choices"][0]["text"], " above the door.");
  EXPECT_EQ(written["choices"][0]["finish_reason"], "stop");
  std::string streamed;
  for (const Json& event : tiny_.stream(complete + "?stream=true", asked))
    streamed += event["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(streamed, " above the door.");
}

/// As `tessera memo complete` does.
TEST_F(Stores, CompletesAndAbstainsAsTheLibraryDoes) {
  store::memorize(folder_ / "books", "two", "The raven sat above the lamp, and the raven left.");
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // until the server sees it
  const store::MemoStore opened(folder_ / "books");
  std::set<Finish> seen;
  for (const char* prompt :
       {"The raven sat above the ", "THE  RAVEN SAT", "above the", "Quoth Lucy"})
    for (const uint64_t seed : {1, 2, 3}) {
      const WritingOptions options = {
          .max_tokens = 8, .stop = {"left"}, .sampling = {.temperature = 1.5, .seed = seed}};
      std::string text;
      const Finish finish = store::complete(opened, store::read_question(opened, prompt), options,
                                            [&](const Written& written) { text += written.text; });
      const Json reply = post("/v1/completions", {{"model", "books"},
                                                  {"prompt", prompt},
                                                  {"max_tokens", 8},
                                                  {"temperature", 1.5},
                                                  {"stop", "left"},
                                                  {"seed", seed}});
      const Json& choice = reply["choices"][0];
      EXPECT_EQ(choice["text"], text) << prompt << seed;
      EXPECT_EQ(choice["finish"], config::enum_name(finish)) << prompt << seed;
      EXPECT_EQ(choice["finish_reason"], finish == Finish::kMaxTokens ? "length" : "stop");
      seen.insert(finish);
    }
  EXPECT_THAT(seen, ::testing::IsSupersetOf({Finish::kMaxTokens, Finish::kNotStored}));
  const Response refused = tiny_.post("/v1/completions", {{"model", "books"}, {"prompt", "a"}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("this store needs at least 2"));
}

TEST_F(Stores, FindsCountsAndVerifies) {
  const Json found = post("/v1/stores/books/find", {{"text", "sat"}});
  EXPECT_EQ(found["places"], 1);
  EXPECT_EQ(found["data"][0]["byte"], 10);
  EXPECT_EQ(found["data"][0]["before"], "The raven ");
  EXPECT_EQ(tiny_.post("/v1/stores/books/find", {{"text", ""}}).status, 400);
  const Json known = get("/v1/stores/books/stat?measure=10");
  EXPECT_EQ(known["documents"], 1);
  EXPECT_EQ(known["digest"], store::digest(folder_ / "books"));
  EXPECT_GT(known["load"], 0);
  EXPECT_EQ(known["measured_recall"]["positions"], 10);
  EXPECT_EQ(known["seed"], 0);
  EXPECT_EQ(tiny_.ask("GET", "/v1/stores/books/stat?measure=x").status, 400);
  EXPECT_EQ(post("/v1/stores/books/verify", Json::object())["digest"], known["digest"]);
}

TEST_F(Stores, TakesTheFieldsOfAJob) {
  post(kDocuments, {{"id", "two"}, {"text", "A lamp.\nA door.\n"}, {"meta", {"by=me"}}}, 201);
  EXPECT_EQ(get(kDocuments + "?meta=by%3Dme")["data"][0]["id"], "two");
  EXPECT_EQ(get(kDocuments + "?meta=by%3Dme&meta=of%3Dme")["data"].size(), 0u);  // both
  EXPECT_EQ(get(kDocuments + "?before=2020-01-01")["data"].size(), 0u);
  EXPECT_EQ(get(kDocuments + "/two?range=2")["text"], "A door.\n");
  EXPECT_EQ(get("/v1/stores/books/stat?measure=3&seed=1")["measured_recall"]["positions"], 3);
  const Json found = post("/v1/stores/books/search", {{"words", "lamps"}, {"limit", 1}});
  EXPECT_EQ(found["data"][0]["document"], "two");
  const Json all = post("/v1/stores/books/find", {{"text", "door"}, {"limit", nullptr}});
  EXPECT_EQ(all["data"].size(), 2u);
}

TEST_F(Stores, NamesTheFieldThatItRefuses) {
  const auto refused = [&](const Response& response) {
    EXPECT_EQ(response.status, 400);
    return Json::parse(response.body)["error"];
  };
  const auto find = [&](const Json& body) {
    return refused(tiny_.post("/v1/stores/books/find", body));
  };
  EXPECT_EQ(find({{"text", "a"}, {"limits", 3}})["message"],
            "unknown key 'limits'; did you mean 'limit'?");
  EXPECT_EQ(find({{"text", "a"}, {"limits", 3}})["param"], "limits");
  EXPECT_EQ(find({{"limit", 3}})["message"], "text is missing");
  EXPECT_EQ(find({{"text", "a"}, {"limit", 0}})["message"],
            "limit is 0, expected a whole number from 1 to 10000");
  EXPECT_EQ(find({{"text", 7}})["param"], "text");
  const auto stat = [&](const std::string& query) {
    return refused(tiny_.ask("GET", "/v1/stores/books/stat?" + query));
  };
  EXPECT_EQ(stat("seed=1&measure=3&seed=2")["message"], "seed is given more than once");
  EXPECT_EQ(stat("measure=x")["message"],
            R"(measure is "x", expected a whole number from 0 to 100000)");
  EXPECT_EQ(stat("measure=[1]")["param"], "measure");
  EXPECT_EQ(stat("sead=1")["message"], "unknown key 'sead'; did you mean 'seed'?");
  EXPECT_EQ(stat("b=1&a=1&c=1")["param"], "a");  // one of them is enough
  EXPECT_EQ(tiny_.ask("GET", "/v1/stores/books/stat", "", "text/plain").status, 200);
  EXPECT_EQ(tiny_.ask("POST", "/v1/stores/books/search", "words", "text/plain").status, 415);
  const std::string search = R"({"words": "raven"})";
  for (const char* type : {"application/json; charset=utf-8", "Application/JSON"})
    EXPECT_EQ(tiny_.ask("POST", "/v1/stores/books/search", search, type).status, 200) << type;
  EXPECT_EQ(tiny_.ask("POST", kDocuments + "?id=text", "A text.", "Text/Plain").status, 201);
  EXPECT_EQ(refused(tiny_.ask("POST", kDocuments + "?id=two&text=A", "B", "text/plain"))["message"],
            "text is given more than once");
  EXPECT_EQ(refused(tiny_.ask("GET", kDocuments + "/one?id=two"))["message"],
            "id is given more than once");
  EXPECT_EQ(refused(tiny_.ask("POST", "/v1/stores/books/search?words=a", search))["message"],
            "words is given more than once");
  EXPECT_EQ(refused(tiny_.ask("GET", kDocuments + "/one?range=0"))["message"],
            "range is '0', expected lines such as 12, 12-20 or 12-");
  EXPECT_EQ(refused(tiny_.ask("POST", "/v1/stores/books/search?stream=1", search))["message"],
            "stream is '1', expected true or false");
}

TEST_F(Stores, LongJobsTellHowFarTheyAre) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += store::document_text(i);
  const auto events = tiny_.stream(kDocuments + "?stream=true", {{"id", "long"}, {"text", text}});
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()["outcome"], "new");
  for (size_t i = 0; i + 1 < events.size(); ++i) EXPECT_LE(events[i]["done"], events[i]["of"]);
  const Response taken = tiny_.post(kDocuments + "?stream=true", {{"id", "one"}, {"text", "x"}});
  RecordedEvents recorded;
  taken.events(recorded);
  EXPECT_THAT(recorded.events.front(), HasSubstr("document_exists"));
}

/// A stream shows by itself whether anybody reads it: a client that sends nothing more may do so.
TEST_F(Stores, AStreamGoesOnAsLongAsItIsRead) {
  const Json questions = {{"prompts", std::vector<std::string>(300, "The raven sat")}};
  const auto answer = [&](EventStream& events) {
    const std::string path = "/v1/stores/books/ask?stream=true";
    tiny_.ask_and_leave("POST", path, questions.dump()).events(events);
  };
  RecordedEvents reads, leaves(1);
  answer(reads);
  EXPECT_EQ(reads.events.back(), "[DONE]");
  answer(leaves);
  EXPECT_EQ(leaves.in_vain, 0);
}

TEST_F(Stores, PromptsCountWithTheTokensThatMayAnswerThem) {
  tiny_.service.limits.tokens_per_request = 100;
  const std::string path = "/v1/stores/books/ask", prompt = "The raven sat";
  EXPECT_EQ(post(path, {{"prompts", {prompt, prompt}}})["data"].size(), 2u);  // of 50 tokens each
  const Response refused = tiny_.post(path, {{"prompts", {prompt, prompt, prompt}}});
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(refused.body, HasSubstr("have 150 tokens, expected at most 100 in all"));
}

TEST_F(Stores, ARecitalStopsWhereItsAnswerMayBecomeTooLarge) {
  tiny_.service.limits.answer_bytes = 2500;  // four tokens with three sources each
  const std::string recall = "/v1/stores/books/recall", prompt = "The raven sat";
  EXPECT_EQ(post(recall, {{"prompt", prompt}, {"tokens", 4}})["tokens"].size(), 4u);
  EXPECT_THAT(tiny_.post(recall, {{"prompt", prompt}, {"tokens", 5}}).body,
              HasSubstr("the answer may have 0.0 MB, expected at most 0.0 (--max-answer); ask for "
                        "fewer prompts, tokens or sources"));
  EXPECT_EQ(tiny_.post(recall, {{"prompt", prompt}, {"tokens", 5}}).status, 413);
  EXPECT_EQ(tiny_.post(recall, {{"prompt", prompt}, {"tokens", 4}, {"sources", 4}}).status, 413);
  EXPECT_EQ(tiny_.post(recall, {{"prompt", "Quoth Lucy"}, {"tokens", 50}}).status, 200)
      << "what is not recited does not count";
  const Json twice = {{"prompts", {prompt, prompt}}, {"tokens", 3}};
  EXPECT_EQ(tiny_.post("/v1/stores/books/ask", twice).status, 413) << "all answers together";
  RecordedEvents recorded;
  tiny_.post("/v1/stores/books/ask?stream=true", twice).events(recorded);
  EXPECT_THAT(recorded.events.back(), HasSubstr("--max-answer"));
  post(kDocuments, {{"id", std::string(1000, 'l')}, {"text", "A long name."}}, 201);
  EXPECT_EQ(tiny_.post(recall, {{"prompt", prompt}, {"tokens", 4}}).status, 413)
      << "ids count with their length";
  EXPECT_EQ(post(recall, {{"prompt", prompt}, {"tokens", 1}, {"sources", 1}})["tokens"].size(), 1u);
}

/// A text that repeats itself is found at nearly as many places as it has bytes, overlapping.
TEST_F(Stores, TextsThatAreFoundStopWhereTheirAnswerMayBecomeTooLarge) {
  post(kDocuments, {{"id", "a"}, {"text", std::string(5000, 'a')}}, 201);
  tiny_.service.limits.answer_bytes = 100'000;
  const std::string find = "/v1/stores/books/find";
  const Json most = post(find, {{"text", std::string(1000, 'a')}, {"limit", 50}});
  EXPECT_EQ(most["places"], 4001);
  EXPECT_EQ(most["data"].size(), 50u);
  const Response refused = tiny_.post(find, {{"text", std::string(1000, 'a')}, {"limit", 500}});
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(refused.body, HasSubstr("(--max-answer); ask for fewer places (limit)"));
}

}  // namespace
}  // namespace tessera::serve
