// Clients that send nothing, too much, or byte by byte: the others do not notice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/program/serve/running_server.h"

namespace tessera::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

TEST(SlowClients, LargeAndSlowRequestsAreRefused) {
  ServerOptions options;
  options.http.body_bytes = 2000;
  options.http.read_seconds = 0.5;
  options.http.idle_seconds = 0.5;
  Running running(options);
  EXPECT_THAT(running.ask(request("POST", "/v1/completions", std::string(3000, ' '))),
              StartsWith("HTTP/1.1 413"));
  Client slow(running.server.port());
  slow.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{");
  EXPECT_EQ(slow.receive("}}"), "") << "its time is over";
  Client idle(running.server.port());
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(idle.receive("}"), "");
  EXPECT_LT(std::chrono::steady_clock::now() - started, 10s) << "it was not hung up on";
  EXPECT_THAT(running.ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST(SlowClients, IdleConnectionsCostNoThread) {
  ServerOptions options;
  options.clients = 1;
  Running running(options);
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 2000; ++i) idle.push_back(std::make_unique<Client>(running.server.port()));
  EXPECT_THAT(running.ask(request("GET", "/health")), StartsWith("HTTP/1.1 200"));
}

TEST(SlowClients, HeadsAndBodiesThatTrickleInHoldUpNobody) {
  ServerOptions options;
  options.clients = 1;
  Running running(options);
  const std::string body = R"({"prompt":"a","max_tokens":1})";
  const std::string whole = request("POST", "/v1/completions", body);
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(std::make_unique<Client>(running.server.port()));
    slow.back()->send(whole.substr(0, i % 2 == 0 ? 30 : whole.size() - 5));
  }
  EXPECT_THAT(running.ask(whole, "}}"), StartsWith("HTTP/1.1 200"));
  slow[0]->send(whole.substr(30));  // what comes late is answered all the same
  EXPECT_THAT(slow[0]->receive("}}"), StartsWith("HTTP/1.1 200"));
  slow[1]->send(body.substr(body.size() - 5));
  EXPECT_THAT(slow[1]->receive("}}"), StartsWith("HTTP/1.1 200"));
}

TEST(SlowClients, ARefusedBodyDoesNotTakeTheAnswerAway) {
  ServerOptions options;
  options.http.body_bytes = 2000;
  Running running(options);
  Client client(running.server.port());
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  for (int i = 0; i < 20; ++i) {
    client.send(std::string(20000, ' '));
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_THAT(client.receive("}}"), StartsWith("HTTP/1.1 413"));
}

TEST(SlowClients, BodiesInChunksAndWhenTheyAreAskedFor) {
  Running running;
  Client chunks(running.server.port());
  const std::string head =
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\n";
  chunks.send(head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n");
  std::this_thread::sleep_for(50ms);
  chunks.send("1c\r\n\"prompt\":\"a\",\"max_tokens\":1}\r\n0\r\n\r\n");
  EXPECT_THAT(chunks.receive("}}"), StartsWith("HTTP/1.1 200"));
  Client expecting(running.server.port());
  const std::string body = R"({"prompt":"a","max_tokens":1})";
  expecting.send(head + "Expect: 100-continue\r\nContent-Length: " + std::to_string(body.size()) +
                 "\r\n\r\n");
  EXPECT_THAT(expecting.receive("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  expecting.send(body);
  EXPECT_THAT(expecting.receive("}}"), StartsWith("HTTP/1.1 200"));
}

TEST(SlowClients, RequestsThatComeTogetherAreAllAnswered) {
  Running running;
  Client client(running.server.port());
  std::string many;
  for (int i = 0; i < 20; ++i) many += request("GET", "/health");
  client.send(many + "GET /v1/models/mosaic HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.receive("memory_mosaic"), HasSubstr("memory_mosaic"));
}

}  // namespace
}  // namespace tessera::serve
