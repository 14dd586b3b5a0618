// Requests that contradict themselves, hide another one, or ask for more than they may: each is
// refused with its status, and the next one is answered.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/program/serve/listening.h"
#include "tests/program/serve/running_server.h"

namespace tessera::serve {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kBodyLimit = 2000;
constexpr size_t kHeadLimit = 1 << 15;

const std::string kHidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
const std::string kLast = "GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

const HttpOptions kSmallBodies = {.body_bytes = kBodyLimit};

std::string length(const std::string& body) {
  return "Content-Length: " + std::to_string(body.size()) + "\r\n";
}

/// A POST whose head ends in these lines.
std::string post(const std::string& lines, const std::string& body) {
  return "POST /a HTTP/1.1\r\nHost: localhost\r\n" + lines + "\r\n" + body;
}

TEST(HostileRequests, TheBodyOfAnyMethodIsNeverTheNextRequest) {
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::string expect = "Expect: 100-continue\r\n";
  for (const std::string method : {"GET", "HEAD", "DELETE", "OPTIONS", "POST"})
    for (const auto& [lines, body] : std::vector<std::pair<std::string, std::string>>{
             {length(kHidden), kHidden},
             {expect + length(kHidden), kHidden},
             {chunked, in_chunks(kHidden, 1000)},
             {chunked, in_chunks(kHidden, 5)},
             {expect + chunked, in_chunks(kHidden, 1000)}}) {
      Listening listening;
      RawClient client(listening.port(), method + " /a HTTP/1.1\r\nHost: localhost\r\n" + lines +
                                             "\r\n" + body + kLast);
      client.rest();  // until the last request is answered, or the server ends the connection
      for (const std::string& request : listening.requests())
        EXPECT_THAT(request, AnyOf(StartsWith(method + " /a "), "GET /last "))
            << method << " " << lines;
      EXPECT_THAT(listening.ask(kLast).status, 200);
    }
}

TEST(HostileRequests, LengthsThatContradictThemselvesAreRefused) {
  Listening listening;
  for (const std::string lines :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 6\r\n",
        "Content-Length: +5\r\n", "Content-Length: -1\r\n", "Content-Length: 0x5\r\n",
        "Content-Length: 5 5\r\n", "Content-Length: \r\n", "Content-Length : 5\r\n",
        "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: \r\n",
        "Transfer-Encoding: identity\r\n", "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"}) {
    RawClient client(listening.port(), post(lines, "0\r\n\r\n" + kHidden + kLast));
    const Answer answer = client.answer();
    EXPECT_THAT(answer.status, AnyOf(400, 413, 501)) << lines;
    EXPECT_EQ(client.rest(), "") << "the connection goes on after " << lines;
  }
  EXPECT_THAT(listening.requests(), Each(Not(HasSubstr("hidden"))));
  EXPECT_THAT(listening.requests(), Each(Not(HasSubstr("last"))));
  EXPECT_EQ(listening.ask(kLast).status, 200);
}

TEST(HostileRequests, ChunksThatAreNoneAreRefused) {
  Listening listening({}, kSmallBodies);
  for (const std::string chunks :
       {"FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n",
        "5\r\nabcde\r\nFFFFFFFFFFFFFFFC\r\nabc\r\n0\r\n\r\n", "7FFFFFFFFFFFFFFF\r\nabc\r\n",
        "-1\r\nabc\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n", "\r\nabc\r\n0\r\n\r\n",
        "g\r\nabc\r\n0\r\n\r\n", "3\r\nabcdef\r\n0\r\n\r\n", "3 3\r\nabc\r\n0\r\n\r\n"}) {
    RawClient client(listening.port(), post("Transfer-Encoding: chunked\r\n", chunks + kLast));
    EXPECT_THAT(client.answer().status, AnyOf(400, 413)) << chunks;
    EXPECT_EQ(client.rest(), "") << "the connection goes on after " << chunks;
  }
  EXPECT_THAT(listening.requests(), ElementsAre());
  EXPECT_EQ(listening.ask(kLast).status, 200);
}

TEST(HostileRequests, WhatStandsBesideChunksHasALimit) {
  for (const std::string begin : {"1;a=", "1\r\na\r\n0\r\nA: ", "1\r\na\r\n0\r\nA: b\r\n"}) {
    Listening listening({}, kSmallBodies);
    RawClient client(listening.port(), post("Transfer-Encoding: chunked\r\n", begin));
    const std::string more = begin.back() == '\n' ? "A: b\r\n" : "abcdef";
    std::string piece;
    for (int i = 0; i < 10000; ++i) piece += more;
    size_t sent = 0;
    while (sent < (64u << 20) && client.send(piece)) sent += piece.size();
    EXPECT_LT(sent, 32u << 20) << begin;  // the kernel's buffers take some of it
    EXPECT_THAT(listening.requests(), ElementsAre()) << begin;
    EXPECT_EQ(listening.ask(kLast).status, 200);
  }
}

TEST(HostileRequests, TrailersAreNoHeaders) {
  for (const std::string trailer : {"X: later", "Content-Length: 5", "Transfer-Encoding: gzip",
                                    "Host: evil", "Connection: close"}) {
    std::atomic<int> with_it = 0;
    Listening listening([&](const Request& request) {
      with_it += request.header("X") == "later" || request.header("Host") == "evil";
      return Response();
    });
    RawClient client(listening.port(),
                     post("Transfer-Encoding: chunked\r\n",
                          "3\r\nabc\r\n0\r\n" + trailer + "\r\n\r\n" + kHidden + kLast));
    EXPECT_THAT(client.answer().status, AnyOf(200, 400)) << trailer;
    client.rest();
    EXPECT_EQ(with_it, 0) << trailer;
    for (const std::string& request : listening.requests())  // each of them whole
      EXPECT_THAT(request, AnyOf("POST /a abc", "GET /hidden ", "GET /last ")) << trailer;
  }
}

TEST(HostileRequests, TargetsMayNameTheServer) {
  Listening listening;
  EXPECT_EQ(listening.ask("GET http://localhost/a?b=c HTTP/1.1\r\nHost: localhost\r\n\r\n").status,
            200);
  EXPECT_THAT(listening.requests(), ElementsAre("GET /a "));
}

TEST(HostileRequests, BodiesUpToTheLimit) {
  Listening listening({}, kSmallBodies);
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  for (const size_t over : {0, 1}) {
    const std::string body(kBodyLimit + over, 'x');
    for (const std::string& request :
         {post(length(body), body), post(chunked, in_chunks(body, body.size())),
          post(chunked, in_chunks(body, 100)), post(chunked, in_chunks(body, 1))})
      EXPECT_EQ(listening.ask(request).status, over == 0 ? 200 : 413) << request.substr(0, 100);
  }
  EXPECT_EQ(listening.requests().size(), 4u);
  // Nobody is asked to send what will be refused.
  EXPECT_EQ(listening.ask(post("Expect: 100-continue\r\nContent-Length: 2001\r\n", "")).status,
            413);
}

TEST(HostileRequests, HeadsUpToTheLimit) {
  Listening listening;
  const auto lines = [](size_t bytes) {
    std::string text;
    for (int i = 0; text.size() < bytes; ++i) text += fmt::format("X-{}: {:0>990}\r\n", i, i);
    return text;
  };
  const auto get = [](const std::string& more) { return asking("GET", "/a", "", more); };
  EXPECT_EQ(listening.ask(get(lines(kHeadLimit - 4000))).status, 200);
  EXPECT_EQ(listening.ask(get(lines(kHeadLimit + 10))).status, 431);
  EXPECT_EQ(listening.ask(get(lines(20 * kHeadLimit))).status, 431);
  EXPECT_EQ(listening.ask(get("X: " + std::string(kHeadLimit, 'x') + "\r\n")).status, 431);
  const std::string path(kHeadLimit, 'x');
  EXPECT_THAT(listening.ask(asking("GET", "/" + path)).status, AnyOf(414, 431));
  EXPECT_EQ(listening.requests().size(), 1u);
}

TEST(HostileRequests, WhatIsNotHttpIsRefused) {
  Listening listening;
  const std::string host = "Host: localhost\r\n";
  for (const std::string& text :
       {std::string("nonsense\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("GET /a\r\n\r\n"),
        std::string(100, '\0') + "\r\n\r\n", "GET /a HTTP/x.y\r\n" + host + "\r\n",
        "GET  /a HTTP/1.1\r\n" + host + "\r\n", "GET /a b HTTP/1.1\r\n" + host + "\r\n",
        "GET /a HTTP/1.1 \r\n" + host + "\r\n", "G(T /a HTTP/1.1\r\n" + host + "\r\n",
        "GET /a HTTP/1.1\r\n" + host + "no colon\r\n\r\n",
        "GET /a HTTP/1.1\r\n" + host + ": no name\r\n\r\n",
        "GET /a HTTP/1.1\r\n" + host + "X: \x01\r\n\r\n",
        "GET /a HTTP/1.1\r\n" + host + std::string("X: a\0b\r\n\r\n", 10),
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 client hello\r\n\r\n", 28)}) {
    RawClient client(listening.port(), text);
    EXPECT_EQ(client.answer().status, 400) << text;
    EXPECT_EQ(client.rest(), "") << "the connection goes on after " << text;
  }
  EXPECT_THAT(listening.ask("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").status, AnyOf(400, 505));
  EXPECT_THAT(listening.requests(), ElementsAre());
  EXPECT_EQ(listening.ask(kLast).status, 200);
}

TEST(HostileRequests, MethodsThatAreRare) {
  Listening listening;
  RawClient client(listening.port());
  client.send(asking("HEAD", "/a") + asking("GET", "/a") + asking("OPTIONS", "/a"));
  const Answer head = client.answer(true), get = client.answer(), options = client.answer();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), std::to_string(get.body.size()));
  EXPECT_THAT(get.header("Date"), testing::MatchesRegex("..., .. ... .... ..:..:.. GMT"));
  EXPECT_EQ(get.body, "answer to /a");
  EXPECT_EQ(options.status, 200);
  Running running;
  for (const std::string method : {"BREW", "TRACE", "PROPFIND", "get"}) {
    EXPECT_THAT(running.ask(asking(method, "/health")).status, AnyOf(405, 501)) << method;
  }
  EXPECT_THAT(running.ask("CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n").status,
              AnyOf(400, 404, 405, 501));
  EXPECT_THAT(running.ask("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n").status,
              AnyOf(200, 204, 400, 404, 405));
}

TEST(HostileRequests, AHeadOfAStreamIsAllThatHeadGets) {
  std::atomic<int> events = 0;
  Listening listening([&](const Request& request) {
    if (request.path != "/events") return Response();
    return Response::of_events([&](EventStream& stream) {
      ++events;
      stream.send("one");
    });
  });
  RawClient client(listening.port());
  client.send(asking("HEAD", "/events") + asking("GET", "/events"));
  EXPECT_EQ(client.answer(true).status, 200);
  const Answer get = client.answer();
  EXPECT_EQ(get.status, 200);
  EXPECT_EQ(get.body, "data: one\n\n");
  EXPECT_EQ(events, 1);
}

TEST(HostileRequests, OldClientsAreAnsweredInTheirOwnWay) {
  Listening listening([](const Request& request) {
    if (request.path == "/events")
      return Response::of_events([](EventStream& stream) {
        stream.send("one");
        stream.send("two");
      });
    return Response{.body = "ok"};
  });
  const std::string head = " HTTP/1.0\r\nHost: localhost\r\n";
  RawClient plain(listening.port(), "GET /a" + head + "\r\n");
  const Answer answer = plain.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "ok");
  EXPECT_EQ(plain.rest(), "");  // it is hung up on
  RawClient stream(listening.port(), "GET /events" + head + "\r\n");
  const Answer events = stream.answer();
  EXPECT_EQ(events.header("Transfer-Encoding"), "");  // which they do not know
  EXPECT_EQ(events.body, "data: one\n\ndata: two\n\n");
  RawClient keeping(listening.port());
  for (int i = 0; i < 2; ++i) {
    keeping.send("GET /a" + head + "Connection: keep-alive\r\n\r\n");
    EXPECT_EQ(keeping.answer().body, "ok");
  }
}

TEST(HostileRequests, BodiesOnDemand) {
  Listening listening;
  const std::string lines = "Expect: 100-continue\r\nContent-Length: 5\r\n";
  RawClient client(listening.port(), post(lines, ""));
  EXPECT_EQ(client.answer().status, 100);
  client.send("12345");
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_THAT(listening.requests(), ElementsAre("POST /a 12345"));
  Listening closed({}, {}, [](const Request&) { return Response{.status = 401}; });
  EXPECT_EQ(closed.ask(post(lines, "")).status, 401);
}

TEST(HostileRequests, APostMayHaveNoBody) {
  Listening listening;
  EXPECT_EQ(listening.ask(post("", "")).status, 200);
  EXPECT_EQ(listening.ask(post("Content-Length: 0\r\n", "")).status, 200);
  EXPECT_EQ(listening.ask(post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n")).status, 200);
  EXPECT_THAT(listening.requests(), ElementsAre("POST /a ", "POST /a ", "POST /a "));
  Running running;
  const Answer answer = running.ask(asking("POST", "/v1/completions"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("\"error\""));
}

}  // namespace
}  // namespace tessera::serve
