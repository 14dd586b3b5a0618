// A server of models among strangers: clients that send nothing, too much, or byte by byte; limits
// that mean work, places, the log.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>

#include "tests/program/serve/running_server.h"

namespace tessera::serve {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

TEST(HostileToServer, IdleConnectionsCostNoThread) {
  Running running({.clients = 1});
  std::deque<RawClient> idle;
  for (int i = 0; i < 2000; ++i) idle.emplace_back(running.port());
  EXPECT_EQ(running.ask(asking("GET", "/health")).status, 200);
}

TEST(HostileToServer, HeadsAndBodiesThatTrickleInHoldUpNobody) {
  Running running({.clients = 1});
  const std::string body = R"({"prompt":"a","max_tokens":1})";
  const std::string whole = asking("POST", "/v1/completions", body);
  std::deque<RawClient> slow;
  for (int i = 0; i < 200; ++i)
    slow.emplace_back(running.port(), whole.substr(0, i % 2 == 0 ? 30 : whole.size() - 5));
  EXPECT_EQ(running.ask(whole).status, 200);
  slow[0].send(whole.substr(30));  // what comes late is answered all the same
  EXPECT_EQ(slow[0].answer().status, 200);
  slow[1].send(body.substr(body.size() - 5));
  EXPECT_EQ(slow[1].answer().status, 200);
}

TEST(HostileToServer, ARefusedBodyDoesNotTakeTheAnswerAway) {
  Running running({.http = {.body_bytes = 2000}});
  RawClient client(
      running.port(),
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  for (int i = 0; i < 20; ++i) {
    client.send(std::string(20000, ' '));
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(client.answer().status, 413);
}

TEST(HostileToServer, RequestsThatComeTogetherAreAllAnswered) {
  Running running;
  std::string many;
  for (int i = 0; i < 20; ++i) many += asking("GET", "/health");
  RawClient client(running.port(), many + asking("GET", "/v1/models/mosaic"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.answer().status, 200) << i;
  EXPECT_THAT(client.answer().body, HasSubstr("memory_mosaic"));
}

TEST(HostileToServer, BodiesThatNeverComeHoldUpNobody) {
  Running running({.http = {.read_seconds = kNever}});
  std::deque<RawClient> waiting;
  for (int i = 0; i < 80; ++i)
    for (const std::string more :
         {"Transfer-Encoding: chunked\r\n\r\n", "Content-Length: 9\r\n\r\n{",
          "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
          "Transfer-Encoding: chunked\r\n\r\n5\r\n{"})
      waiting.emplace_back(running.port(),
                           "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                           "Content-Type: application/json\r\n" +
                               more);
  for (const auto& [method, path, body] :
       {std::tuple("GET", "/health", ""),
        std::tuple("POST", "/v1/completions", R"({"prompt":"a","max_tokens":1})")}) {
    EXPECT_EQ(running.ask(asking(method, path, body)).status, 200) << path;
  }
}

TEST(HostileToServer, OneThatSendsNothingMoreGetsItsWholeText) {
  Running running;
  for (const bool stream : {false, true}) {
    const Json body = {
        {"prompt", "a"}, {"max_tokens", 300}, {"ignore_eos", true}, {"stream", stream}};
    RawClient client(running.port(), asking("POST", "/v1/completions", body.dump()));
    client.half_close();
    const Answer answer = client.answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.whole);
    EXPECT_THAT(answer.body, HasSubstr(stream ? "data: [DONE]\n\n" : "\"completion_tokens\":300"));
  }
}

TEST(HostileToServer, ManyNamesAreOneClientWhereThereAreNoKeys) {
  Running running({.clients_per_key = 2});
  const auto asked = [&](int i, bool endless) {
    const Json body = {{"prompt", "a"},
                       {"max_tokens", endless ? 100000 : 1},
                       {"stream", endless},
                       {"ignore_eos", true}};
    return asking("POST", "/v1/completions", body.dump(),
                  fmt::format("Authorization: Bearer {}\r\n", i));
  };
  RawClient first(running.port(), asked(1, true));
  RawClient second(running.port(), asked(2, true));
  for (RawClient* client : {&first, &second})
    ASSERT_THAT(client->until("data: {"), StartsWith("HTTP/1.1 200"));
  for (int i = 3; i < 10; ++i) EXPECT_EQ(running.ask(asked(i, false)).status, 429) << i;
  first.leave();
  EXPECT_TRUE(soon([&] { return running.counts().rows == 1; }));
  EXPECT_TRUE(soon([&] { return running.ask(asked(10, false)).status == 200; }));
}

TEST(HostileToServer, ThoseWithoutAKeyTakeNoPlaces) {
  Running running({.access = {.keys = {"key"}}, .clients = 2});
  std::string many;
  for (int i = 0; i < 1000; ++i) many += asking("GET", i % 10 == 0 ? "/health" : "/page.css");
  std::deque<RawClient> strangers;
  for (int i = 0; i < 10; ++i) {  // more is sent to them than the kernel holds
    strangers.emplace_back(running.port(), 4096);
    strangers.back().send(many);
  }
  for (int i = 0; i < 50; ++i) {
    const std::string key = "Authorization: Bearer key\r\n";
    ASSERT_EQ(running.ask(asking("GET", "/v1/models", "", key)).status, 200) << i;
    std::this_thread::sleep_for(10ms);
  }
}

TEST(HostileToServer, RefusedRequestsTakeNoPlaces) {
  Running running({.access = {.keys = {"greedy", "other"}}, .clients = 3, .clients_per_key = 1});
  const auto asked = [](const std::string& key) {
    return asking("GET", "/v1/models", "", "Authorization: Bearer " + key + "\r\n");
  };
  const std::string endless =
      R"({"prompt":"a","max_tokens":100000,"ignore_eos":true,"stream":true})";
  RawClient first(running.port(),
                  asking("POST", "/v1/completions", endless, "Authorization: Bearer greedy\r\n"));
  ASSERT_THAT(first.until("data: {"), StartsWith("HTTP/1.1 200"));
  std::string many;
  for (int i = 0; i < 20000; ++i) many += asked("greedy");
  std::deque<RawClient> refused;
  for (int i = 0; i < 4; ++i) {  // none of them reads its refusals
    refused.emplace_back(running.port(), 4096);
    const timeval limit = {0, 500000};
    ::setsockopt(refused.back().socket(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    refused.back().send(many);  // until the server waits for it
  }
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(running.ask(asked("other")).status, 200) << i;
    std::this_thread::sleep_for(10ms);
  }
}

TEST(HostileToServer, ALogThatFailsChangesNoAnswer) {
  std::atomic<int> lines = 0;
  Running running({}, {}, [&](const Request&, int, double) {
    ++lines;
    throw std::runtime_error("the disk is full");
  });
  const Json body = {{"prompt", "a"}, {"max_tokens", 3}, {"stream", true}};
  RawClient client(running.port());
  client.send(asking("GET", "/health") + asking("POST", "/v1/completions", body.dump()) +
              asking("GET", "/nothing") + asking("GET", "/health", "", "Connection: close\r\n"));
  EXPECT_EQ(client.answer().body, R"({"status":"ok"})");
  EXPECT_THAT(client.answer().body, HasSubstr("data: [DONE]\n\n"));
  EXPECT_EQ(client.answer().status, 404);
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.rest(), "");
  running.stop();
  EXPECT_EQ(lines, 4);
}

/// What a server tells of its answers.
class Lines {
 public:
  Server::OnAnswer add() {
    return [this](const Request& request, int status, double) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(fmt::format("{} {} {}", request.method, request.path, status));
    };
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST(HostileToServer, WhatHttpItselfRefusesIsLoggedAndCounted) {
  Lines lines;
  Running running({.http = {.body_bytes = 2000, .read_seconds = kNever}}, {}, lines.add());
  running.ask(asking("POST", "/large", std::string(3000, ' ')));
  running.ask(asking("POST", "/packed", "{}", "Content-Encoding: gzip\r\n"));
  running.ask(asking("GET", "/broken", "", "no colon\r\n"));
  running.ask("nonsense\r\n\r\n");
  running.ask(asking("GET", "/a", "", "X: " + std::string(1 << 16, 'x') + "\r\n"));
  RawClient(running.port(), "GET /left HT").leave();  // of its own accord
  EXPECT_TRUE(soon([&] { return lines.all().size() >= 5; }));
  EXPECT_THAT(lines.all(), UnorderedElementsAre("POST /large 413", "POST /packed 415",
                                                "GET /broken 400", "  400", "GET /a 431"));
  for (const auto& [status, count] : {std::pair(400, 2), {413, 1}, {415, 1}, {431, 1}})
    EXPECT_TRUE(has_counted(running, "refused", status, count)) << status;
}

TEST(HostileToServer, ARequestThatDoesNotArriveInTimeIsLoggedAndCounted) {
  Lines lines;
  Running running({.http = {.read_seconds = 0.5}}, {}, lines.add());
  RawClient slow(running.port(), asking("POST", "/slow", "body").substr(0, 80));
  EXPECT_EQ(slow.rest(), "") << "it is logged, not answered";
  EXPECT_TRUE(has_counted(running, "refused", 408));
  EXPECT_THAT(lines.all(), ElementsAre("POST /slow 408"));
}

TEST(HostileToServer, RequestsThatAreClosedForOthersAreLogged) {
  Lines lines;
  Running running({.http = {.body_bytes = 1000, .read_seconds = kNever}}, {}, lines.add());
  const std::string head = "GET /a HTTP/1.1\r\nX: " + std::string(30000, 'x');
  std::deque<RawClient> clients;
  for (int i = 0; i < 30; ++i) clients.emplace_back(running.port(), head);
  EXPECT_TRUE(soon([&] { return lines.all().size() >= 10; })) << "16 may arrive at once";
  EXPECT_THAT(lines.all(), Each("GET /a 503"));
}

TEST(HostileToServer, AnAnswerThatIsTooLargeIsCountedForItsRoute) {
  Running running;
  running.tiny.service.limits.answer_bytes = 100;
  EXPECT_EQ(running.ask(asking("GET", "/v1/models")).status, 413);
  EXPECT_TRUE(has_counted(running, "/v1/models", 413));
}

TEST(HostileToServer, CompressedBodiesAreRefused) {
  Running running;
  const std::string body = R"({"prompt":"a","max_tokens":1})";
  for (const std::string encoding : {"gzip", "deflate", "br", "zstd", "GZIP", "gzip, identity"})
    for (const std::string path : {"/health", "/v1/completions", "/"}) {
      const std::string method = path == "/v1/completions" ? "POST" : "GET";
      const std::string more = "Content-Encoding: " + encoding + "\r\n";
      EXPECT_EQ(running.ask(asking(method, path, body, more)).status, 415) << path << encoding;
    }
}

TEST(HostileToServer, RangesAreIgnored) {
  Running running;
  const auto page = [&](const std::string& more) {
    return running.ask(asking("GET", "/", "", more));
  };
  const Answer whole = page("");
  ASSERT_EQ(whole.status, 200);
  std::string many = "0-";
  for (int i = 1; i < 2000; ++i) many += ",0-";
  for (const std::string& ranges :
       {std::string("0-9"), std::string("5-"), std::string("-1"), many}) {
    const Answer answer = page("Range: bytes=" + ranges + "\r\n");
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body == whole.body) << answer.body.size() << " bytes";
    EXPECT_EQ(answer.header("Content-Range"), "");
  }
}

TEST(HostileToServer, EnormousAnswersAreRefusedBeforeAnyWork) {
  Running running;
  const auto status = [&](const Json& body) {
    return running.ask(asking("POST", "/v1/completions", body.dump())).status;
  };
  const std::vector<int> ids(1000, 65);
  const std::vector<std::string> texts(2048, "a");
  Json body = {{"prompt", ids}, {"n", 128}, {"echo", true}, {"logprobs", 20}, {"max_tokens", 0}};
  for (const bool stream : {false, true}) {
    body["stream"] = stream;
    EXPECT_THAT(status(body), AnyOf(400, 413, 429)) << stream;
  }
  body = {{"prompt", ids}, {"n", 1}, {"best_of", 128}, {"logprobs", 20}, {"max_tokens", 5000}};
  EXPECT_THAT(status(body), AnyOf(400, 413, 429));
  body = {{"prompt", texts}, {"n", 128}, {"max_tokens", 1}};
  EXPECT_THAT(status(body), AnyOf(400, 413, 429, 503));
  EXPECT_EQ(running.counts().tokens_read, 0);
  EXPECT_EQ(running.counts().tokens_written, 0);
  EXPECT_EQ(status({{"prompt", "a"}, {"max_tokens", 1}}), 200);
}

}  // namespace
}  // namespace tessera::serve
