// The server on real sockets: answers, streams, clients that hang up, limits, the end.

#include "program/serve/server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <latch>
#include <thread>

#include "program/serve/log.h"
#include "tessera/base/error.h"
#include "tests/program/serve/running_server.h"

namespace tessera::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kEndless =
    R"({"prompt":"a","max_tokens":100000,"stream":true,"ignore_eos":true,"seed":1})";

TEST(Server, AnswersOverASocketAndKeepsTheConnection) {
  Running running;
  RawClient client(running.port());
  for (int i = 0; i < 3; ++i) {
    client.send(
        asking("POST", "/v1/completions", R"({"prompt":"ab","max_tokens":2,"ignore_eos":true})"));
    const Answer answer = client.answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_THAT(answer.body, HasSubstr("\"total_tokens\":4"));
  }
  EXPECT_EQ(running.ask(asking("GET", "/nothing")).status, 404);
  EXPECT_THAT(running.ask(asking("GET", "/v1/models/mosaic")).body, HasSubstr("memory_mosaic"));
}

TEST(Server, StreamsEventsAsTheyCome) {
  Running running;
  RawClient client(running.port(), asking("POST", "/v1/completions", kEndless));
  const std::string begun = client.until("data: {");
  EXPECT_THAT(begun, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(begun, HasSubstr("text/event-stream"));
  EXPECT_EQ(running.counts().rows, 1);  // the text is still being written
  const std::string short_one = R"({"prompt":"b","max_tokens":3,"stream":true})";
  EXPECT_THAT(running.ask(asking("POST", "/v1/completions", short_one)).body,
              HasSubstr("data: [DONE]\n\n"));
  EXPECT_TRUE(soon([&] { return running.counts().rows == 1; }));  // that text alone
}

TEST(Server, AClientThatHangsUpFreesItsPlace) {
  Running running({.http = {.half_closed_seconds = 0.1}});
  for (const bool stream : {true, false}) {
    Json body = Json::parse(kEndless);
    body["stream"] = stream;
    RawClient client(running.port(), asking("POST", "/v1/completions", body.dump()));
    ASSERT_TRUE(soon([&] { return running.counts().rows == 1; }));
    client.leave();
    EXPECT_TRUE(soon([&] { return running.counts().rows == 0; })) << stream;
  }
  EXPECT_TRUE(soon([&] {
    return running.ask(asking("GET", "/metrics")).body.find(R"(status="499"} 1)") !=
           std::string::npos;
  })) << "no failure of the server's";
}

TEST(Server, AnswersWhatHasBegunBeforeItStops) {
  Running running;
  RawClient client(running.port(),
                   asking("POST", "/v1/completions",
                          R"({"prompt":"a","max_tokens":300,"ignore_eos":true,"stream":true})"));
  ASSERT_THAT(client.until("data: {"), StartsWith("HTTP/1.1 200"));
  running.stop();
  EXPECT_THAT(client.rest(), HasSubstr("data: [DONE]\n\n"));
}

TEST(Server, TooManyRequestsAreToldToComeBack) {
  for (const bool clients_are_the_limit : {true, false}) {
    Running running({.clients = clients_are_the_limit ? 2 : 10},
                    {.rows = 1, .queue = clients_are_the_limit ? 10 : 1});
    const std::string endless = asking("POST", "/v1/completions", kEndless);
    RawClient first(running.port(), endless);
    ASSERT_THAT(first.until("data: {"), StartsWith("HTTP/1.1 200"));
    const RawClient second(running.port(), endless);
    ASSERT_TRUE(soon([&] { return running.counts().waiting == 1; }));
    const Answer refused = running.ask(endless);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.header("Retry-After"), "1");
    EXPECT_EQ(running.ask(asking("GET", "/health")).status, 200);
  }
}

TEST(Server, AKeyHasItsShare) {
  Running running({.access = {.keys = {"greedy", "other"}}, .clients_per_key = 2});
  const auto asked = [&](const std::string& key, const std::string& body) {
    return asking("POST", "/v1/completions", body, "Authorization: Bearer " + key + "\r\n");
  };
  RawClient first(running.port(), asked("greedy", kEndless));
  RawClient second(running.port(), asked("greedy", kEndless));
  for (RawClient* client : {&first, &second})
    ASSERT_THAT(client->until("data: {"), StartsWith("HTTP/1.1 200"));
  const std::string one = R"({"prompt":"a","max_tokens":1})";
  const Answer refused = running.ask(asked("greedy", one));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_THAT(refused.body, HasSubstr("rate_limit_exceeded"));
  EXPECT_TRUE(has_counted(running, "refused", 429));
  EXPECT_EQ(running.ask(asked("other", one)).status, 200);
  first.leave();
  EXPECT_TRUE(soon([&] { return running.counts().rows == 1; }));
  EXPECT_TRUE(soon([&] { return running.ask(asked("greedy", one)).status == 200; }));
}

TEST(Server, StrangersAreRefused) {
  Running running({.access = {.keys = {"secret", "other"}, .hosts = {"tessera.example"}}});
  const auto status = [&](const std::string& headers, const std::string& path = "/v1/models") {
    return running.ask("GET " + path + " HTTP/1.1\r\n" + headers + "\r\n").status;
  };
  const std::string host = "Host: localhost:80\r\n";
  EXPECT_EQ(status(host), 401);
  EXPECT_EQ(status(host + "Authorization: Bearer secre\r\n"), 401);
  EXPECT_EQ(status(host + "Authorization: Bearer other\r\n"), 200);
  EXPECT_EQ(running.ask("OPTIONS /v1/models HTTP/1.1\r\n" + host + "\r\n").status, 401);
  EXPECT_EQ(status(host, "/health"), 200);
  EXPECT_EQ(status("Host: LOCALHOST\r\nauthorization: bearer other\r\n"), 200);
  const std::string key = "Authorization: Bearer secret\r\n";
  EXPECT_EQ(running.ask("GET /v1/models HTTP/1.0\r\n" + key + "\r\n").status, 200);
  EXPECT_EQ(status(key + "Host: evil.example\r\n"), 403);
  EXPECT_EQ(status(key), 400);  // no Host
  EXPECT_EQ(status(key + "Host: tessera.example\r\n"), 200);
  EXPECT_EQ(status(key + "Host: [::1]:8080\r\n"), 200);
  EXPECT_EQ(status(key + host + "Origin: https://evil.example\r\n"), 403);
  EXPECT_EQ(status(key + host + "Origin: http://localhost:80\r\n"), 200);
}

TEST(Server, AnotherOriginIsAllowedByNameOnly) {
  const std::string origin = "https://page.example", page = "Origin: " + origin + "\r\n";
  Running running({.access = {.keys = {"secret"}, .origin = origin}});
  const std::string key = "Authorization: Bearer secret\r\n";
  const auto expect = [&](const std::string& method, const std::string& headers, int status,
                          const std::string& allowed) {
    const Answer answer = running.ask(asking(method, "/v1/models", "", headers));
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), allowed);
  };
  expect("OPTIONS", page, 204, origin);
  expect("GET", page + key, 200, origin);
  expect("GET", page, 401, origin);  // the page sees why
  expect("GET", key, 200, "");
  const auto allowed_headers = [&](const std::string& headers) {
    return running.ask(asking("OPTIONS", "/v1/models", "", headers))
        .header("Access-Control-Allow-Headers");
  };
  EXPECT_EQ(allowed_headers(page), "Authorization, Content-Type");
  const std::string asked = "authorization,content-type,x-stainless-os";
  EXPECT_EQ(allowed_headers(page + "Access-Control-Request-Headers: " + asked + "\r\n"), asked);
}

TEST(Server, AnOriginIsASchemeAndAHost) {
  ServerOptions options;
  for (const char* origin : {"https://page.example", "http://localhost:3000"}) {
    options.access.origin = origin;
    EXPECT_NO_THROW(options.check()) << origin;
  }
  for (const char* origin : {"foo", "*", "https://", "https://page.example/", "https://a b"}) {
    options.access.origin = origin;
    EXPECT_THROW(options.check(), UsageError) << origin;
  }
}

TEST(Server, OtherMachinesNeedAKey) {
  ServerOptions options;
  options.http.host = "0.0.0.0";
  EXPECT_THROW(options.check(), UsageError);
  options.insecure = true;
  EXPECT_NO_THROW(options.check());
  options.insecure = false;
  options.access.keys = {"k"};
  EXPECT_NO_THROW(options.check());
}

TEST(Server, CountsWhatItDoes) {
  Running running;
  running.ask(
      asking("POST", "/v1/completions", R"({"prompt":"ab","max_tokens":2,"ignore_eos":true})"));
  running.ask(asking("GET", "/nothing"));
  const Answer metrics = running.ask(asking("GET", "/metrics"));
  EXPECT_EQ(metrics.header("Content-Type"), "text/plain; version=0.0.4");
  for (const char* line : {R"(tessera_requests_total{route="/v1/completions",status="200"} 1)",
                           R"(tessera_requests_total{route="none",status="404"} 1)",
                           R"(tessera_prompt_tokens_total{model="mosaic"} 2)",
                           R"(tessera_generated_tokens_total{model="mosaic"} 2)",
                           "tessera_first_token_seconds_count 1",
                           R"(tessera_request_seconds_bucket{le="+Inf",route="/v1/completions"} 1)",
                           R"(tessera_request_seconds_bucket{le="+Inf",route="none"} 1)"})
    EXPECT_THAT(metrics.body, HasSubstr(std::string(line) + "\n"));
}

TEST(Log, HasTimeToBeWrittenAtTheEnd) {
  constexpr int kLines = 500;
  std::array<int, 2> ends = {};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::fcntl(ends[1], F_SETPIPE_SZ, 4096);  // which is full soon
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  std::string log;
  std::latch ends_now(1);
  std::thread reader([&] {
    ends_now.wait();
    std::array<char, 4096> bytes;
    for (ssize_t count; (count = ::read(ends[0], bytes.data(), bytes.size())) > 0;)
      log.append(bytes.data(), count);
  });
  for (int line = 0; line < kLines; ++line) log_line(std::string(100, 'x'));
  ends_now.count_down();
  finish_log();
  ::dup2(before, STDERR_FILENO);  // the last one that could write into the pipe
  ::close(before);
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(std::ranges::count(log, '\n'), kLines);
}

}  // namespace
}  // namespace tessera::serve
