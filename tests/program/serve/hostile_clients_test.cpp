// Clients that leave, stop, drip or never read: the server drops them and serves the others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <future>
#include <new>

#include "tests/program/serve/listening.h"
#include "tests/program/serve/running_server.h"

namespace tessera::serve {
namespace {

using ::testing::AnyOf;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace std::chrono_literals;

/// Counts the events that are being written.
class Writers {
 public:
  /// A stream without end.
  Response endless(std::string event = "more") {
    return Response::of_events([this, event](EventStream& stream) {
      ++writing;
      while (stream.send(event)) {
        bytes += std::ssize(event);
        if (event.size() < 1000) std::this_thread::sleep_for(1ms);
      }
      --writing;
    });
  }
  std::atomic<int> writing = 0;
  std::atomic<int64_t> bytes = 0;
};

Response of_size(size_t bytes) {
  return {.body = std::string(bytes, 'x')};
}

/// That nobody is connected, and that the process rests.
void expect_quiet(Listening& listening) {
  listening.ask(asking("GET", "/last"));  // accepted after all others
  EXPECT_TRUE(soon([&] { return listening.server.connections() == 0; }));
  const size_t requests = listening.requests().size();
  const double before = cpu_seconds();
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(cpu_seconds() - before, 0.2) << "the server works for nobody";
  EXPECT_THAT(listening.requests(), SizeIs(requests));
}

TEST(HostileClients, ThoseThatAskTwiceAndLeaveCostNothing) {
  Writers writers;
  Listening listening(
      [&](const Request& request) {
        return request.path == "/events" ? writers.endless() : of_size(100);
      },
      {},
      [](const Request& request) {
        return request.path == "/refused" ? std::optional(Response{.status = 401}) : std::nullopt;
      });
  const std::string get = asking("GET", "/a"), events = asking("GET", "/events");
  const std::string last = asking("GET", "/a", "", "Connection: close\r\n");
  for (const std::string& sent :
       {get + get, last + get, last + last + last, events + events, events + get,
        asking("GET", "/refused") + get, asking("POST", "/refused", "body") + get + get,
        "nonsense\r\n\r\n" + get, get + "GET /half",
        get + asking("POST", "/a", "12345").substr(0, 90)})
    for (const bool reads : {false, true})
      for (const bool resets : {false, true}) {
        RawClient client(listening.port(), sent);
        if (reads) client.receive(10);
        resets ? client.reset() : client.leave();
      }
  EXPECT_TRUE(soon([&] { return writers.writing == 0; }));
  expect_quiet(listening);
}

TEST(HostileClients, ThoseThatLeaveAtAnyByte) {
  Listening listening;
  const std::string whole =
      "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (size_t i = 0; i <= whole.size(); ++i)
    for (const bool resets : {false, true}) {
      RawClient client(listening.port(), whole.substr(0, i));
      resets ? client.reset() : client.leave();
    }
  expect_quiet(listening);
  EXPECT_EQ(listening.ask(whole).status, 200);
}

TEST(HostileClients, OneThatSendsNothingMoreGetsItsWholeAnswer) {
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  Listening listening(
      [opened](const Request& request) {
        if (request.path == "/events")
          return Response::of_events([opened](EventStream& stream) {
            stream.send("one");
            opened.wait();
            for (int i = 0; i < 100; ++i) stream.send(std::string(10000, 'x'));
          });
        opened.wait();
        return of_size(1000000);
      },
      {.half_closed_seconds = kNever});
  RawClient plain(listening.port(), asking("POST", "/a", "body"));
  RawClient events(listening.port(), asking("GET", "/events"));
  plain.half_close();
  events.half_close();
  std::this_thread::sleep_for(100ms);  // for the server to see it
  gate.set_value();
  const Answer answer = plain.answer(), streamed = events.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, SizeIs(1000000));
  EXPECT_TRUE(streamed.whole);
  EXPECT_GT(streamed.body.size(), 1000000u);
  EXPECT_TRUE(soon([&] { return listening.server.connections() == 0; }));
}

TEST(HostileClients, OneThatEndsWithinItsRequestIsDropped) {
  Listening listening;
  for (const std::string part :
       {"", "GET", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n123",
        "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n"}) {
    RawClient client(listening.port(), part);
    client.half_close();
    EXPECT_THAT(client.rest(), AnyOf("", StartsWith("HTTP/1.1 400"))) << part;
  }
  EXPECT_THAT(listening.requests(), SizeIs(0));
  expect_quiet(listening);
}

TEST(HostileClients, RequestsThatDripInHaveOneTimeLimit) {
  Listening listening({}, {.read_seconds = 0.3});
  const std::string head = "POST /a HTTP/1.1\r\nHost: localhost\r\n";
  for (const auto& [begin, drop] : {std::pair<std::string, std::string>{"", "A"},
                                    {head + "X: ", "a"},
                                    {head, "X: a\r\n"},
                                    {head + "Content-Length: 100000\r\n\r\n", "a"},
                                    {head + "Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"},
                                    {head + "Transfer-Encoding: chunked\r\n\r\n1;", "a"}}) {
    RawClient client(listening.port(), begin);
    EXPECT_TRUE(soon([&, drop = drop] { return !client.send(drop); })) << begin;
    EXPECT_TRUE(soon([&] { return listening.server.connections() == 0; })) << begin;
  }
  EXPECT_THAT(listening.requests(), SizeIs(0));
}

TEST(HostileClients, HeadsThatNeverEndHoldLittleTogether) {
  Listening listening({}, {.body_bytes = 1000, .read_seconds = kNever});
  std::string head = "GET /a HTTP/1.1\r\nHost: a\r\n";
  while (head.size() < 30000) head += "X-Header: 0123456789\r\n";
  std::deque<RawClient> clients;
  for (int i = 0; i < 60; ++i) clients.emplace_back(listening.port(), head);
  EXPECT_EQ(listening.ask(asking("GET", "/b")).status, 200);  // accepted after all others
  EXPECT_TRUE(soon([&] { return listening.server.connections() < 20; }))
      << "16 heads and bodies of the largest size may arrive at once";
  clients.back().send("\r\n");  // the latest ones are still there
  EXPECT_EQ(clients.back().answer().status, 200);
}

TEST(HostileClients, OneThatHardlyReadsIsDropped) {
  Writers writers;
  Listening listening(
      [&](const Request& request) {
        return request.path == "/events" ? writers.endless(std::string(10000, 'x'))
                                         : of_size(64 << 20);
      },
      {.write_seconds = 0.3});  // for 64 KB
  for (const std::string path : {"/a", "/events"}) {
    RawClient client(listening.port(), 4096);
    client.send(asking("GET", path));
    const auto dropped = [&] { return listening.server.connections() == 0; };
    ASSERT_TRUE(client.receive(10).starts_with("HTTP/1.1 2"));
    for (int i = 0; i < 500 && !dropped(); ++i) {  // 50 kB a second
      std::this_thread::sleep_for(20ms);
      client.receive(1000);
    }
    EXPECT_TRUE(dropped()) << path;
    EXPECT_EQ(writers.writing, 0);
  }
  EXPECT_LT(writers.bytes, 50 << 20) << "the answer is kept in memory";
}

TEST(HostileClients, AStreamMayPauseForLongerThanAWriteMayTake) {
  Listening listening(
      [](const Request&) {
        return Response::of_events([](EventStream& stream) {
          for (const char* event : {"one", "two"}) {
            EXPECT_TRUE(stream.send(event));
            std::this_thread::sleep_for(400ms);
          }
        });
      },
      {.write_seconds = 0.2});
  const Answer answer = listening.ask(asking("GET", "/events"));
  EXPECT_EQ(answer.body, "data: one\n\ndata: two\n\n");
  EXPECT_TRUE(answer.whole);
}

TEST(HostileClients, NothingMoreIsWrittenToOneThatHasLeft) {
  Writers writers;
  Listening listening([&](const Request&) { return writers.endless(std::string(1000, 'x')); },
                      {.write_seconds = kNever});
  for (int i = 0; i < 50; ++i) {
    RawClient client(listening.port(), asking("GET", "/events"));
    ASSERT_EQ(client.receive(10), "HTTP/1.1 2");
    client.reset();
  }
  EXPECT_TRUE(soon([&] { return listening.server.connections() == 0; }));
  EXPECT_EQ(writers.writing, 0);
}

TEST(HostileClients, OneThatNeverReadsIsNotAskedForMore) {
  Listening listening([](const Request&) { return of_size(1 << 20); }, {.write_seconds = 0.3});
  RawClient client(listening.port());
  std::string many;
  for (int i = 0; i < 1000; ++i) many += asking("GET", "/a");
  client.send(many);
  EXPECT_TRUE(soon([&] { return listening.requests().size() > 2; }));
  EXPECT_TRUE(soon([&] { return listening.server.connections() == 0; }));
  EXPECT_LT(listening.requests().size(), 100u) << "answers are written that nobody takes";
}

TEST(HostileClients, IdleOnesAreDroppedAfterAnAnswerToo) {
  Listening listening({}, {.idle_seconds = 0.3});
  RawClient silent(listening.port());
  std::optional<RawClient> client;
  EXPECT_TRUE(soon([&] {  // one that the machine holds up before it asks is idle, too
    client.emplace(listening.port(), asking("GET", "/a"));
    return client->answer().status == 200;
  }));
  EXPECT_EQ(client->rest(), "");
  EXPECT_EQ(silent.rest(), "");
  expect_quiet(listening);
}

TEST(HostileClients, TheEndOfTheServerWaitsForNoneOfThem) {
  Writers writers;
  std::optional<Listening> listening;
  listening.emplace(
      [&](const Request& request) {
        return request.path == "/events" ? writers.endless(std::string(10000, 'x')) : of_size(100);
      },
      HttpOptions{.read_seconds = kNever, .idle_seconds = kNever, .write_seconds = 0.3});
  std::deque<RawClient> clients;
  for (const std::string sent :
       {"", "GET", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n1",
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "GET /events HTTP/1.1\r\nHost: a\r\n\r\n"})
    clients.emplace_back(listening->port(), sent);
  EXPECT_EQ(clients[4].answer().status, 200);
  EXPECT_TRUE(soon([&] { return writers.bytes > 0; }));
  listening.reset();  // comes back
  EXPECT_EQ(writers.writing, 0);
}

TEST(HostileClients, AHandlerThatFailsEndsItsOwnRequest) {
  Listening listening([](const Request& request) -> Response {
    if (request.path == "/full") throw std::bad_alloc();
    if (request.path == "/broken") throw std::runtime_error("broken");
    if (request.path == "/events")
      return Response::of_events([](EventStream& stream) {
        stream.send("one");
        throw std::runtime_error("broken");
      });
    return of_size(10);
  });
  EXPECT_EQ(listening.ask(asking("GET", "/full")).status, 503);  // out of memory
  EXPECT_EQ(listening.ask(asking("GET", "/broken")).status, 500);
  const Answer events = listening.ask(asking("GET", "/events"));
  EXPECT_EQ(events.status, 200);
  EXPECT_FALSE(events.whole) << "a stream that broke off looks complete";
  EXPECT_EQ(listening.ask(asking("GET", "/a")).status, 200);
  expect_quiet(listening);
}

}  // namespace
}  // namespace tessera::serve
