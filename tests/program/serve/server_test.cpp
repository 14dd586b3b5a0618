// The server on real sockets: answers, streams, clients that hang up, limits, the end.

#include "program/serve/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tessera/base/error.h"
#include "tests/program/serve/running_server.h"
#include "tests/support/temporary_folder.h"

namespace tessera::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kEndless =
    R"({"prompt":"a","max_tokens":100000,"stream":true,"ignore_eos":true,"seed":1})";

TEST(Server, AnswersOverASocketAndKeepsTheConnection) {
  Running running;
  Client client(running.server.port());
  for (int i = 0; i < 3; ++i) {
    client.send(
        request("POST", "/v1/completions", R"({"prompt":"ab","max_tokens":2,"ignore_eos":true})"));
    const std::string answer = client.receive("total_tokens\":4}}");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(answer, HasSubstr("Content-Type: application/json"));
  }
  EXPECT_THAT(running.ask(request("GET", "/nothing")), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(running.ask(request("GET", "/v1/models/mosaic")), HasSubstr("memory_mosaic"));
}

TEST(Server, StreamsEventsAsTheyCome) {
  Running running;
  Client client(running.server.port());
  client.send(request("POST", "/v1/completions", kEndless));
  const std::string begun = client.receive("data: {");
  EXPECT_THAT(begun, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(begun, HasSubstr("text/event-stream"));
  EXPECT_EQ(running.counts().rows, 1);  // the text is still being written
  Client other(running.server.port());
  other.send(request("POST", "/v1/completions", R"({"prompt":"b","max_tokens":3,"stream":true})"));
  EXPECT_THAT(other.receive(), HasSubstr("data: [DONE]\n\n"));
  EXPECT_TRUE(soon([&] { return running.counts().rows == 1; }));  // that text alone
}

TEST(Server, AClientThatHangsUpFreesItsPlace) {
  ServerOptions options;
  options.http.half_closed_seconds = 0.1;
  Running running(options);
  for (const bool stream : {true, false}) {
    Client client(running.server.port());
    Json body = Json::parse(kEndless);
    body["stream"] = stream;
    client.send(request("POST", "/v1/completions", body.dump()));
    ASSERT_TRUE(soon([&] { return running.counts().rows == 1; }));
    client.hang_up();
    EXPECT_TRUE(soon([&] { return running.counts().rows == 0; })) << stream;
  }
}

TEST(Server, AnswersWhatHasBegunBeforeItStops) {
  Running running;
  Client client(running.server.port());
  client.send(request("POST", "/v1/completions",
                      R"({"prompt":"a","max_tokens":300,"ignore_eos":true,"stream":true})"));
  ASSERT_THAT(client.receive("data: {"), StartsWith("HTTP/1.1 200"));
  running.stop();
  EXPECT_THAT(client.receive(), HasSubstr("data: [DONE]\n\n"));
}

TEST(Server, TooManyRequestsAreToldToComeBack) {
  for (const bool clients_are_the_limit : {true, false}) {
    ServerOptions options;
    options.clients = clients_are_the_limit ? 2 : 10;
    Running running(options, {.rows = 1, .queue = clients_are_the_limit ? 10 : 1});
    Client first(running.server.port()), second(running.server.port());
    first.send(request("POST", "/v1/completions", kEndless));
    ASSERT_THAT(first.receive("data: {"), StartsWith("HTTP/1.1 200"));
    second.send(request("POST", "/v1/completions", kEndless));
    ASSERT_TRUE(soon([&] { return running.counts().waiting == 1; }));
    const std::string refused = running.ask(request("POST", "/v1/completions", kEndless), "}}");
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
    EXPECT_THAT(refused, HasSubstr("Retry-After: 1"));
    EXPECT_THAT(running.ask(request("GET", "/health")), StartsWith("HTTP/1.1 200"));
  }
}

TEST(Server, AKeyHasItsShare) {
  ServerOptions options;
  options.access.keys = {"greedy", "other"};
  options.clients_per_key = 2;
  Running running(options);
  const auto asked = [&](const std::string& key, const std::string& path, const std::string& body) {
    return request("POST", path, body, "Host: localhost\r\nAuthorization: Bearer " + key + "\r\n");
  };
  Client first(running.server.port()), second(running.server.port());
  for (Client* client : {&first, &second}) {
    client->send(asked("greedy", "/v1/completions", kEndless));
    ASSERT_THAT(client->receive("data: {"), StartsWith("HTTP/1.1 200"));
  }
  const std::string one = R"({"prompt":"a","max_tokens":1})";
  const std::string refused = running.ask(asked("greedy", "/v1/completions", one), "}}");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(refused, HasSubstr("Retry-After: 1"));
  EXPECT_THAT(refused, HasSubstr("rate_limit_exceeded"));
  EXPECT_THAT(running.ask(asked("other", "/v1/completions", one), "}}"),
              StartsWith("HTTP/1.1 200"));
  first.hang_up();
  EXPECT_TRUE(soon([&] { return running.counts().rows == 1; }));
  EXPECT_THAT(running.ask(asked("greedy", "/v1/completions", one), "}}"),
              StartsWith("HTTP/1.1 200"));
}

TEST(Server, StrangersAreRefused) {
  ServerOptions options;
  options.access.keys = {"secret", "other"};
  options.access.hosts = {"tessera.example"};
  Running running(options);
  const auto status = [&](const std::string& headers, const std::string& path = "/v1/models") {
    return running.ask(request("GET", path, "", headers)).substr(9, 3);
  };
  const std::string host = "Host: localhost:80\r\n";
  EXPECT_EQ(status(host), "401");
  EXPECT_EQ(status(host + "Authorization: Bearer secre\r\n"), "401");
  EXPECT_EQ(status(host + "Authorization: Bearer other\r\n"), "200");
  EXPECT_EQ(status(host, "/health"), "200");
  EXPECT_EQ(status("Host: LOCALHOST\r\nauthorization: bearer other\r\n"), "200");
  const std::string key = "Authorization: Bearer secret\r\n";
  EXPECT_EQ(status(key + "Host: evil.example\r\n"), "403");
  EXPECT_EQ(status(key), "403");  // no Host
  EXPECT_EQ(status(key + "Host: tessera.example\r\n"), "200");
  EXPECT_EQ(status(key + "Host: [::1]:8080\r\n"), "200");
  EXPECT_EQ(status(key + host + "Origin: https://evil.example\r\n"), "403");
  EXPECT_EQ(status(key + host + "Origin: http://localhost:80\r\n"), "200");
}

TEST(Server, AnotherOriginIsAllowedByNameOnly) {
  ServerOptions options;
  options.access.origin = "https://page.example";
  options.access.keys = {"secret"};
  Running running(options);
  const std::string headers = "Host: localhost\r\nOrigin: https://page.example\r\n";
  const std::string asked = running.ask(request("OPTIONS", "/v1/models", "", headers), "\r\n\r\n");
  EXPECT_THAT(asked, StartsWith("HTTP/1.1 204"));
  EXPECT_THAT(asked, HasSubstr("Access-Control-Allow-Origin: https://page.example"));
  const std::string key = "Authorization: Bearer secret\r\n";
  EXPECT_THAT(running.ask(request("GET", "/v1/models", "", headers + key)),
              AllOf(StartsWith("HTTP/1.1 200"),
                    HasSubstr("Access-Control-Allow-Origin: https://page.example")));
  EXPECT_THAT(running.ask(request("GET", "/v1/models", "", headers)),  // the page sees why
              AllOf(StartsWith("HTTP/1.1 401"),
                    HasSubstr("Access-Control-Allow-Origin: https://page.example")));
  EXPECT_THAT(running.ask(request("GET", "/v1/models", "", "Host: localhost\r\n" + key)),
              AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("Access-Control"))));
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

TEST(Server, KeysComeFromLines) {
  const test::TemporaryFolder folder;
  const auto file = (folder / "keys").native();
  std::ofstream(file) << "first\r\n\nsecond \n";
  EXPECT_EQ(read_keys(file), (std::vector<std::string>{"first", "second"}));
  std::ofstream(file, std::ios::trunc) << "\n";
  EXPECT_THROW(read_keys(file), DataError);
}

TEST(Server, CountsWhatItDoes) {
  Running running;
  running.ask(
      request("POST", "/v1/completions", R"({"prompt":"ab","max_tokens":2,"ignore_eos":true})"),
      "}}");
  running.ask(request("GET", "/nothing"));
  const std::string metrics = running.ask(request("GET", "/metrics"), "memory_bytes ");
  EXPECT_THAT(metrics, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(metrics,
              HasSubstr("tessera_requests_total{route=\"/v1/completions\",status=\"200\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("tessera_requests_total{route=\"none\",status=\"404\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("tessera_prompt_tokens_total{model=\"mosaic\"} 2\n"));
  EXPECT_THAT(metrics, HasSubstr("tessera_generated_tokens_total{model=\"mosaic\"} 2\n"));
  EXPECT_THAT(metrics, HasSubstr("tessera_first_token_seconds_count 1\n"));
  for (const char* route : {"/v1/completions", "none"})
    EXPECT_THAT(metrics, HasSubstr("tessera_request_seconds_bucket{le=\"+Inf\",route=\"" +
                                   std::string(route) + "\"} 1\n"));
}

}  // namespace
}  // namespace tessera::serve
