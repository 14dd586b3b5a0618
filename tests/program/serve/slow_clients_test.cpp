// Clients that send nothing, too much, or byte by byte: the others do not notice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/program/serve/running_server.h"

namespace tessera::serve {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(SlowClients, IdleConnectionsCostNoThread) {
  ServerOptions options;
  options.clients = 1;
  Running running(options);
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 2000; ++i) idle.push_back(std::make_unique<RawClient>(running.port()));
  EXPECT_EQ(running.ask(asking("GET", "/health")).status, 200);
}

TEST(SlowClients, HeadsAndBodiesThatTrickleInHoldUpNobody) {
  ServerOptions options;
  options.clients = 1;
  Running running(options);
  const std::string body = R"({"prompt":"a","max_tokens":1})";
  const std::string whole = asking("POST", "/v1/completions", body);
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 200; ++i)
    slow.push_back(std::make_unique<RawClient>(
        running.port(), whole.substr(0, i % 2 == 0 ? 30 : whole.size() - 5)));
  EXPECT_EQ(running.ask(whole).status, 200);
  slow[0]->send(whole.substr(30));  // what comes late is answered all the same
  EXPECT_EQ(slow[0]->answer().status, 200);
  slow[1]->send(body.substr(body.size() - 5));
  EXPECT_EQ(slow[1]->answer().status, 200);
}

TEST(SlowClients, ARefusedBodyDoesNotTakeTheAnswerAway) {
  ServerOptions options;
  options.http.body_bytes = 2000;
  Running running(options);
  RawClient client(
      running.port(),
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  for (int i = 0; i < 20; ++i) {
    client.send(std::string(20000, ' '));
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(client.answer().status, 413);
}

TEST(SlowClients, RequestsThatComeTogetherAreAllAnswered) {
  Running running;
  std::string many;
  for (int i = 0; i < 20; ++i) many += asking("GET", "/health");
  RawClient client(running.port(), many + asking("GET", "/v1/models/mosaic"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.answer().status, 200) << i;
  EXPECT_THAT(client.answer().body, HasSubstr("memory_mosaic"));
}

}  // namespace
}  // namespace tessera::serve
