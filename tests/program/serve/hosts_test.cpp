// Stores at several hosts that answer together as one store that holds all documents.

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "tessera/hosts/stores_of_hosts.h"
#include "tessera/store/merge.h"
#include "tessera/store/store_json.h"
#include "tests/program/serve/running_server.h"
#include "tests/store/small_stores.h"
#include "tests/support/free_port.h"

namespace tessera::serve {
namespace {

using hosts::StoresOfHosts;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::string address_of(int port) {
  return "http://127.0.0.1:" + std::to_string(port) + "/v1/stores/part";
}

/// A service of one store.
struct PartService : Service {
  explicit PartService(const std::filesystem::path& folder) {
    models.add_store("part", folder.native(), {});
  }
};

/// A server of one store.
class PartServer {
 public:
  explicit PartServer(const std::filesystem::path& folder, const ServerOptions& options = {})
      : service_(folder), server_(service_, options) {}
  void stop() { server_.stop(); }
  std::string address() const { return address_of(server_.port()); }

 private:
  PartService service_;
  ServerInThread server_;
};

std::string as_http(const Response& response) {
  return "HTTP/1.1 " + std::to_string(response.status) +
         " X\r\nContent-Length: " + std::to_string(response.body.size()) + "\r\n\r\n" +
         response.body;
}

/// Changes an answer, for a request to this path, into the bytes that are sent; "" ends the
/// connection.
using Alter = std::function<std::string(const std::string& path, const Response& answer)>;

/// A host with a store whose answers are altered on their way.
class AlteringHost {
 public:
  AlteringHost(const std::filesystem::path& folder, Alter alter)
      : alter_(std::move(alter)), service_(folder), router_(routes_of(service_)) {
    ::listen(bound_.socket, 8);
    thread_ = std::thread([this] { serve(); });
  }
  ~AlteringHost() {
    stopping_ = true;
    ::shutdown(bound_.socket, SHUT_RDWR);
    thread_.join();
    ::close(bound_.socket);
  }
  std::string address() const { return address_of(bound_.port); }

 private:
  void serve() {
    for (int client; (client = ::accept(bound_.socket, nullptr, nullptr)) >= 0; ::close(client))
      while (!stopping_ && answer_one(client)) {
      }
  }

  bool answer_one(int client) {
    std::string text;
    size_t end = std::string::npos, length = 0;
    while (end == std::string::npos || text.size() < end + 4 + length) {
      const timeval limit = {0, 50000};
      ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      char buffer[65536];
      const ssize_t count = ::recv(client, buffer, sizeof buffer, 0);
      if (count == 0 || stopping_) return false;
      if (count < 0) continue;
      text.append(buffer, count);
      end = text.find("\r\n\r\n");
      const size_t header = text.find("Content-Length: ");
      if (end != std::string::npos && header < end) length = std::stoul(text.substr(header + 16));
    }
    Request request;
    request.method = text.substr(0, text.find(' '));
    const std::string_view target = std::string_view(text).substr(request.method.size() + 1);
    request.set_target(target.substr(0, target.find(' ')));
    request.headers["Content-Type"] = "application/json";
    request.body = text.substr(end + 4);
    const std::string answer = alter_(request.path, router_.answer(request));
    if (answer.empty()) return false;
    ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    return true;
  }

  Alter alter_;
  PartService service_;
  Router router_;
  const test::BoundSocket bound_ = test::bound_socket();
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

/// Answers `bytes` to requests whose path ends so, and the store's own answers to others.
Alter with(const std::string& path_end, const std::string& bytes) {
  return [=](const std::string& path, const Response& answer) {
    return path.ends_with(path_end) ? bytes : as_http(answer);
  };
}

/// The same with another body.
Alter with_body(const std::string& path_end, const std::string& body) {
  return with(path_end, as_http({.body = body}));
}

/// A time limit that no host of these tests reaches, however busy the machine is.
const hosts::HostOptions kPatient{.seconds = 600};

const char* const kPrompts[] = {
    "Page 3 tells of a",          // one document
    "page 5  TELLS of\na",        // as one types it
    "tells of a raven and",       // in several documents of each store
    "Page 2 told of a",           // a word is wrong
    "all of it begins with the",  // in every document, in the same places
    "the sun rises from the sea every day"};

class StoresTogether : public ::testing::Test {
 protected:
  void make(const memo::TextMemoryConfig& memory) {
    for (const char* name : {"a", "b", "c"})
      store::MemoStore::create(folder_ / name, memory, store::byte_tokenizer());
    for (int n = 0; n < 6; ++n)
      store::memorize(folder_ / (n % 3 == 0 ? "a" : "b"), "page" + std::to_string(n),
                      store::document_text(n) + "And all of it begins with the same words.\n");
    store::memorize(folder_ / "c", "last", "Nothing else was written on the last page.");
  }
  void make() { make({.dimension = 512, .heads = 2, .layers = 3}); }

  std::filesystem::path merged(const std::vector<std::string>& names) {
    std::vector<std::filesystem::path> parts;
    std::string all = "all";
    for (const auto& name : names) {
      parts.push_back(folder_ / name);
      all += "-" + name;
    }
    std::filesystem::remove_all(folder_ / all);
    store::merge_stores(folder_ / all, parts);
    return folder_ / all;
  }

  static Json recall_of(const std::filesystem::path& store, const std::string& prompt) {
    const store::MemoStore opened(store);
    const store::Question question = store::read_question(opened, prompt);
    return store::json_of(opened, prompt, question,
                          store::recall(opened, question.tokens, {.tokens = 20}));
  }
  /// Without "absent", which is checked.
  static Json recall_of(StoresOfHosts& stores, const std::string& prompt,
                        const std::vector<std::string>& absent = {}) {
    Json json = hosts::json_of(stores, prompt, hosts::recall(stores, prompt, {.tokens = 20}));
    std::vector<std::string> named;
    for (const Json& host : json["absent"]) named.push_back(host["store"]);
    EXPECT_EQ(named, absent) << json["absent"];
    json.erase("absent");
    return json;
  }

  test::TemporaryFolder folder_{test::folder_in_memory()};
};

TEST_F(StoresTogether, AnswerAsTheMergedStoreBitForBit) {
  const memo::TextMemoryConfig memories[] = {
      {.dimension = 512, .heads = 2, .layers = 3},
      {.dimension = 128, .heads = 2, .layers = 3, .seed = 7},  // too small: much noise
      {.dimension = 256, .heads = 2, .layers = 3, .shards = 4}};
  int recited = 0;
  for (const auto& memory : memories) {
    make(memory);
    const PartServer a(folder_ / "a"), b(folder_ / "b"), c(folder_ / "c");
    StoresOfHosts stores({a.address(), b.address(), c.address()}, kPatient);
    const auto one = merged({"a", "b", "c"});
    for (const char* prompt : kPrompts) {
      const Json expected = recall_of(one, prompt);
      EXPECT_EQ(recall_of(stores, prompt).dump(), expected.dump());
      recited += static_cast<int>(expected["tokens"].size());
    }
    for (const char* name : {"a", "b", "c"}) std::filesystem::remove_all(folder_ / name);
  }
  EXPECT_GT(recited, 120) << "too little was recited to tell anything";
}

/// Its sums are above 2^24, where floats round.
TEST_F(StoresTogether, AnswerUnderThePapersCodeUpToRounding) {
  make({.code = memo::WindowCodeKind::kPaper, .dimension = 512, .heads = 2, .layers = 3});
  const PartServer a(folder_ / "a"), b(folder_ / "b");
  StoresOfHosts stores({a.address(), b.address()}, kPatient);
  const auto one = merged({"a", "b"});
  for (const char* prompt : kPrompts) {
    const Json expected = recall_of(one, prompt), found = recall_of(stores, prompt);
    EXPECT_EQ(found["text"], expected["text"]);
    ASSERT_EQ(found["tokens"].size(), expected["tokens"].size());
    for (size_t i = 0; i < found["tokens"].size(); ++i) {
      EXPECT_EQ(found["tokens"][i]["sources"], expected["tokens"][i]["sources"]);
      EXPECT_NEAR(found["tokens"][i]["score"], expected["tokens"][i]["score"], 1e-4);
    }
  }
}

TEST_F(StoresTogether, TakeAPromptThatIsNotUtf8) {
  make();
  const PartServer a(folder_ / "a");
  StoresOfHosts stores({a.address()}, kPatient);
  const std::string prompt = "Page 3\xff tells of a";
  const Json expected = recall_of(folder_ / "a", prompt), found = recall_of(stores, prompt);
  EXPECT_EQ(found["text"], expected["text"]);
  EXPECT_EQ(found["differing_words"], 0);
}

TEST_F(StoresTogether, FollowChangesOfAStore) {
  make();
  const PartServer a(folder_ / "a"), b(folder_ / "b");
  StoresOfHosts stores({a.address(), b.address()}, kPatient);
  EXPECT_EQ(recall_of(stores, kPrompts[0]).dump(),
            recall_of(merged({"a", "b"}), kPrompts[0]).dump());
  store::memorize(folder_ / "a", "new", "A heron stood in the reeds and waited.");
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // a server looks every half second
  const Json answer = recall_of(stores, "A heron stood");
  EXPECT_EQ(answer["text"], " in the reeds and wa");
  EXPECT_EQ(answer.dump(), recall_of(merged({"a", "b"}), "A heron stood").dump());
}

TEST_F(StoresTogether, AnswerWithoutAnAbsentHost) {
  make();
  const PartServer a(folder_ / "a"), c(folder_ / "c");
  const std::string dead = address_of(test::free_port());
  StoresOfHosts stores({a.address(), dead, c.address()}, kPatient);
  const auto rest = merged({"a", "c"});
  EXPECT_EQ(recall_of(stores, kPrompts[0], {dead}).dump(), recall_of(rest, kPrompts[0]).dump());
  const auto answer = hosts::recall(stores, kPrompts[0], {});
  EXPECT_THAT(answer.absent.front().reason, HasSubstr("cannot connect: Connection refused"));
}

TEST_F(StoresTogether, AnswerWithoutAHostThatIsLostMeanwhile) {
  make();
  const PartServer a(folder_ / "a");
  const AlteringHost b(folder_ / "b", with("/values", ""));
  auto c = std::make_unique<PartServer>(folder_ / "c");
  const std::string lost = c->address();
  StoresOfHosts stores({a.address(), b.address(), lost}, kPatient);
  c.reset();
  EXPECT_EQ(recall_of(stores, kPrompts[0], {b.address(), lost}).dump(),
            recall_of(folder_ / "a", kPrompts[0]).dump());
}

TEST_F(StoresTogether, AHostThatIsLostIsAskedAgainAfterTenSecondsNotEachTime) {
  make();
  const PartServer a(folder_ / "a");
  std::atomic<int> asked = 0;
  const AlteringHost b(folder_ / "b", [&](const std::string& path, const Response& answer) {
    asked += path.ends_with("/part");
    return with("/part", "")(path, answer);
  });
  StoresOfHosts stores({b.address(), a.address()}, kPatient);
  const auto started = std::chrono::steady_clock::now();
  const int before = asked;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(recall_of(stores, kPrompts[i], {b.address()}).dump(),
              recall_of(folder_ / "a", kPrompts[i]).dump());
  const auto taken = std::chrono::steady_clock::now() - started;
  EXPECT_LE(asked - before, 1 + taken / std::chrono::seconds(10));
}

TEST_F(StoresTogether, RefuseAHostWithAnotherCode) {
  make();
  const memo::TextMemoryConfig others[] = {{.dimension = 512, .heads = 2, .layers = 3, .seed = 1},
                                           {.dimension = 576, .heads = 2, .layers = 3},
                                           {.dimension = 512, .heads = 2, .layers = 2}};
  const PartServer a(folder_ / "a");
  for (const auto& memory : others) {
    std::filesystem::remove_all(folder_ / "other");
    store::MemoStore::create(folder_ / "other", memory, store::byte_tokenizer());
    const PartServer other(folder_ / "other");
    const std::string message = store::message_of<UsageError>([&] {
      StoresOfHosts({a.address(), other.address()}, kPatient);
    });
    EXPECT_THAT(message, HasSubstr(other.address() + " has the configuration"));
    EXPECT_THAT(message, HasSubstr("only stores of equal configuration can answer together"));
  }
}

TEST_F(StoresTogether, AreWithoutAHostWhoseAnswersAreDamaged) {
  make();
  const std::string config = store::MemoStore(folder_ / "b").config().text();
  const auto part = [&](const std::string& from, const std::string& to) {
    return [=](const std::string& path, const Response& answer) {
      Response altered = answer;
      const size_t place = answer.body.find(from);
      if (path.ends_with("/part") && place != std::string::npos)
        altered.body.replace(place, from.size(), to);
      return as_http(altered);
    };
  };
  const auto first_value = [](float value) {
    return [=](const std::string& path, const Response& answer) {
      Response altered = answer;
      const std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
      if (path.ends_with("/values")) altered.body.replace(0, bytes.size(), bytes);
      return as_http(altered);
    };
  };
  struct Case {
    Alter alter;
    const char* reason;
  };
  const Case cases[] = {
      {with("/part", "SSH-2.0-OpenSSH_9\r\n\r\n"), "HTTP/0.9"},
      {with("/part", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"), "Content-Length"},
      {with("/part", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), "expected at most"},
      {with("/part", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
       "its answer"},
      {with("/part", "HTTP/1.1 200 OK\r\nX: " + std::string(200000, 'x')),
       "header|larger than allowed"},  // as one libcurl and another say it
      {with("/part", "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"), "status 500"},
      {with("/part", as_http({.status = 500, .body = R"({"error":{"message":"\u001b[2J"}})"})),
       R"(status 500: \\x1b\[2J)"},
      {with_body("/part", "{"), "its answer"},
      {with_body("/part", std::string(100000, '[')), "its answer"},
      {with_body("/part", "[]"), "in the place of an object"},
      {with_body("/part", "{}"), "lacks 'config'"},
      {part("\"change\":", "\"change\":-"), "whole number"},
      {part("\"token_counts\":[", "\"token_counts\":[1e9,"), "not a list of at most"},
      {part("\"token_counts\":[0,", "\"token_counts\":["), "256 token counts, expected 257"},
      {part("\"dimension\":512", "\"dimension\":513"), "not that of a store"},
      {with_body("/matrix", "abc"), "its matrix has 3 bytes"},
      {with_body("/values", "abc"), "its answer has 3 bytes"},
      {with("/values", as_http({.status = 409})), "changes faster than it can be asked"},
      {first_value(std::numeric_limits<float>::infinity()), "not a number"},
      {first_value(std::numeric_limits<float>::quiet_NaN()), "not a number"},
      {first_value(3e38f), "too large"},
      {with_body("/readings", R"({"differences":0,"doubt":0,"likeness":9,"readings":[]})"),
       "likeness"},
      {with_body("/readings",
                 R"({"differences":0,"doubt":0,"likeness":0,"readings":[{"tokens":[999,1,2],)"
                 R"("text":"a","rest":[]}]})"),
       "a token"},
      {with_body("/readings", R"({"differences":0,"doubt":0,"likeness":0,"readings":[{"tokens":[],)"
                              R"("text":"a","rest":[]}]})"),
       "shorter than every window"},
      {with_body(
           "/readings",
           R"({"differences":0,"doubt":0,"likeness":0,"readings":[{"tokens":[9,1,2,3,4,5,6,7],)"
           R"("text":"a\t\n\u001b[2J","rest":[]}]})"),
       "a text with control characters"},
      {with_body("/sources", R"({"sources":[]})"), "sources of 0 tokens"}};
  const PartServer a(folder_ / "a");
  const Json expected = recall_of(folder_ / "a", kPrompts[0]);
  for (const Case& damaged : cases) {
    const AlteringHost b(folder_ / "b", damaged.alter);
    StoresOfHosts stores({a.address(), b.address()}, kPatient);
    EXPECT_EQ(recall_of(stores, kPrompts[0], {b.address()}).dump(), expected.dump())
        << damaged.reason;
    const auto absent = hosts::recall(stores, kPrompts[0], {}).absent;
    ASSERT_EQ(absent.size(), 1u);
    EXPECT_THAT(absent.front().reason, ContainsRegex(damaged.reason));
  }
  const AlteringHost only(folder_ / "b", with("/tokenizer", as_http({.body = "{}"})));
  EXPECT_THAT(
      store::message_of<hosts::NoHostAnswers>([&] { StoresOfHosts({only.address()}, kPatient); }),
      HasSubstr("its tokenizer is damaged"));
}

TEST_F(StoresTogether, SendTheirKey) {
  make();
  const PartServer a(folder_ / "a", {.access = {.keys = {"secret"}}});
  EXPECT_THAT(
      store::message_of<hosts::NoHostAnswers>([&] { StoresOfHosts({a.address()}, kPatient); }),
      HasSubstr("status 401"));
  std::ofstream(folder_ / "keys") << "secret\nanother\n";
  StoresOfHosts stores({a.address()}, {.seconds = 600, .key_file = (folder_ / "keys").native()});
  EXPECT_EQ(recall_of(stores, kPrompts[0]).dump(), recall_of(folder_ / "a", kPrompts[0]).dump());
}

TEST_F(StoresTogether, AreServedUnderOneName) {
  make();
  PartServer a(folder_ / "a"), b(folder_ / "b");
  TinyService tiny;
  tiny.service.together.emplace(
      "all", std::make_shared<ServedHosts>(std::vector{a.address(), b.address()}, kPatient));
  const Json asked = {{"prompt", kPrompts[0]}, {"tokens", 20}};
  Json answer = tiny.json(tiny.post("/v1/stores/all/recall", asked));
  EXPECT_EQ(answer["absent"], Json::array());
  answer.erase("absent");
  EXPECT_EQ(answer.dump(), recall_of(merged({"a", "b"}), kPrompts[0]).dump());
  EXPECT_EQ(tiny.json(tiny.ask("GET", "/v1/stores"))["together"][0]["stores"],
            Json({a.address(), b.address()}));
  EXPECT_THAT(tiny.ask("GET", "/v1/stores/all/documents").body, HasSubstr(b.address()));
  EXPECT_EQ(tiny.stream("/v1/stores/all/recall?stream=true", asked).size(), 1u);
  b.stop();
  answer = tiny.json(tiny.post("/v1/stores/all/recall", asked));
  EXPECT_EQ(answer["absent"][0]["store"], b.address());
  a.stop();
  EXPECT_EQ(tiny.post("/v1/stores/all/recall", asked).status, 503);
}

TEST_F(StoresTogether, AQuestionThatNobodyWaitsForIsGivenUp) {
  make();
  std::atomic<int> asked = 0;
  std::atomic<bool> hesitates = true;
  const AlteringHost slow(folder_ / "a", [&](const std::string& path, const Response& answer) {
    if (hesitates && path.ends_with("/values"))
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ++asked;
    return as_http(answer);
  });
  TinyService tiny;
  tiny.service.together.emplace(
      "all", std::make_shared<ServedHosts>(std::vector{slow.address()}, kPatient));
  Request request = TinyService::request("POST", "/v1/stores/all/recall",
                                         Json{{"prompt", kPrompts[0]}, {"tokens", 20}}.dump());
  tiny.service.limits.request_seconds = 0.3;
  const auto ask = [&] { return tiny.router.answer(request).status; };
  std::thread first([&] { EXPECT_EQ(ask(), 503) << "it took longer than it may"; });
  EXPECT_EQ(ask(), 503) << "it waited for its turn";
  first.join();
  hesitates = false;
  tiny.service.limits.request_seconds = 600;
  request.hung_up = [] { return false; };
  EXPECT_EQ(ask(), 200);  // the host has done with what was given up
  request.hung_up = [] { return true; };
  const int before = asked;
  EXPECT_EQ(ask(), 503) << "its client has gone";
  EXPECT_EQ(asked, before);
  request.hung_up = [] { return false; };
  EXPECT_EQ(ask(), 200);
}

TEST_F(StoresTogether, AQuestionLeavesNoConditionToTheNext) {
  make();
  const PartServer a(folder_ / "a");
  StoresOfHosts stores({a.address()}, kPatient);
  EXPECT_THROW(hosts::recall(stores, kPrompts[0], {}, [] { return true; }), Interrupted);
  EXPECT_EQ(recall_of(stores, kPrompts[0]).dump(), recall_of(folder_ / "a", kPrompts[0]).dump());
}

TEST_F(StoresTogether, SayTheSourcesOfALongTextInParts) {
  make();
  const PartServer a(folder_ / "a"), b(folder_ / "b");
  StoresOfHosts stores({a.address(), b.address()}, kPatient);
  std::string text;
  for (int n = 7; n >= 0; --n) text += store::document_text(n);
  const std::vector<int32_t> tokens = stores.tokenizer().encode(text);
  constexpr size_t kFirst = 3, kMost = 1000;
  ASSERT_GT((tokens.size() - kFirst) * kMost, size_t{hosts::kMostSourcesAtOnce});
  std::vector<store::TokenSources> found;
  const auto absent = stores.ask([&] { found = stores.sources(tokens, kFirst, kMost); });
  EXPECT_TRUE(absent.empty());
  const auto expected = store::MemoStore(merged({"a", "b"})).sources(tokens, kFirst, kMost);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].places, expected[i].places);
    ASSERT_EQ(found[i].best.size(), expected[i].best.size());
    for (size_t k = 0; k < found[i].best.size(); ++k)
      EXPECT_EQ(store::json_of(found[i].best[k]), store::json_of(expected[i].best[k]));
  }
  std::vector<int32_t> recital;  // as long as a server recites, and what stands before it
  while (recital.size() <= 65536) recital.insert(recital.end(), tokens.begin(), tokens.end());
  const size_t last = recital.size() - 1;
  EXPECT_TRUE(stores.ask([&] { found = stores.sources(recital, last, 1); }).empty());
  EXPECT_EQ(found.at(0).places, expected.back().places);
}

TEST_F(StoresTogether, WhatAPartIsAskedIsChecked) {
  make();
  TinyService tiny;
  tiny.service.models.add_store("part", (folder_ / "a").native(), {});
  const std::string path = "/v1/stores/part/part";
  const Json state = tiny.json(tiny.ask("GET", path));
  EXPECT_EQ(state["documents"], 2);
  EXPECT_EQ(state["config"]["dimension"], 512);
  const auto status = [&](const std::string& method, const std::string& rest,
                          const std::string& body = "") {
    return tiny.ask(method, path + rest, body).status;
  };
  const std::string now = "?change=" + std::to_string(state["change"].get<int64_t>());
  EXPECT_EQ(status("GET", "/matrix?change=99"), 409);
  EXPECT_EQ(status("GET", "/matrix" + now), 400) << "no rows";
  EXPECT_EQ(status("GET", "/matrix" + now + "&rows=512"), 200);
  tiny.service.limits.answer_bytes = 100'000;
  EXPECT_EQ(status("GET", "/matrix" + now + "&rows=512"), 413) << "before it is copied";
  EXPECT_EQ(status("POST", "/values" + now, "abc"), 400);
  EXPECT_EQ(status("POST", "/values" + now, std::string(516, '\xff')), 400) << "no such matrix";
  EXPECT_EQ(status("POST", "/values" + now, std::string(516, '\0')), 200);
  EXPECT_EQ(status("POST", "/readings" + now, "{}"), 400);
  EXPECT_EQ(status("POST", "/sources" + now, R"({"tokens":[9999]})"), 400);
  EXPECT_EQ(status("POST", "/sources" + now, R"({"tokens":[1],"first":2})"), 400);
  const auto sources = [&](size_t tokens, size_t first) {
    const Json asked = {{"tokens", std::vector(tokens, 'a')}, {"first", first}, {"most", 1000}};
    return status("POST", "/sources" + now, asked.dump());
  };
  EXPECT_EQ(sources(262, 0), 200);
  EXPECT_EQ(sources(263, 0), 413) << "before any is looked for";
  EXPECT_EQ(sources(263, 1), 200);
}

}  // namespace
}  // namespace tessera::serve
