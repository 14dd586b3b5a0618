// tessera serve as a process: its port, its log, its open files, and what it does for nobody.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <functional>
#include <thread>

#include "tests/program/cli/served_process.h"

namespace tessera::cli {
namespace {

using serve::asking;
using serve::RawClient;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class HostileToServe : public ::testing::Test {
 protected:
  HostileToServe() { done({"memo", "create", store(), "--dimension", "128"}); }
  std::string store() const { return (folder_ / "store").native(); }

  test::TemporaryFolder folder_{test::folder_in_memory()};
};

TEST_F(HostileToServe, ASecondServerOnAPort) {
  const ServedProcess server(store(), {});
  const auto port = std::to_string(server.port());
  const Outcome second = start({"serve", "--store", "s=" + store(), "--port", port}).wait();
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err, AllOf(HasSubstr("127.0.0.1:" + port), HasSubstr("in use")));
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
}

/// Edits and questions, whose answers do not depend on where the log goes.
void expect_all_answers(const ServedProcess& server) {
  const std::string documents = "/v1/stores/s/documents";
  EXPECT_EQ(server.ask("GET", "/health").body, R"({"status":"ok"})");
  const std::string one = R"({"id":"one","text":"The raven sat above the door."})";
  EXPECT_EQ(server.ask("POST", documents, one).status, 201);
  EXPECT_EQ(server.ask("POST", documents, one).status, 409);
  EXPECT_THAT(server.ask("GET", documents).body, HasSubstr("\"one\""));
  const serve::Answer events = server.ask("POST", "/v1/completions",
                                          R"({"prompt":"The raven","max_tokens":3,"stream":true})");
  EXPECT_THAT(events.body, HasSubstr("data: [DONE]\n\n"));
  EXPECT_EQ(server.ask("DELETE", documents + "/one").status, 200);
}

TEST_F(HostileToServe, ALogOnAFullDiskOrThatNobodyReads) {
  const std::function<void()> on_a_full_disk = [] {
    ::dup2(::open("/dev/full", O_WRONLY), STDERR_FILENO);
  };
  const std::function<void()> to_nobody = [] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(1);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
  };
  for (const auto& log : {on_a_full_disk, to_nobody}) {
    ServedProcess server(store(), {"--log"}, log);
    expect_all_answers(server);
    EXPECT_EQ(server.stop().status, 0);
  }
}

TEST_F(HostileToServe, ALogThatIsNeverRead) {
  ServedProcess server(store(), {"--log"}, [] {
    int ends[2];  // the pipe fills, and blocks whoever writes to it
    if (::pipe(ends) != 0) ::_exit(1);
    ::dup2(ends[1], STDERR_FILENO);
  });
  const std::string long_path = "/" + std::string(1000, 'a');
  RawClient client(server.port());
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(client.send(asking("GET", long_path)));
    ASSERT_EQ(client.answer().status, 404) << i;
  }
  expect_all_answers(server);
}

TEST_F(HostileToServe, WhatAClientSendsIsNoCommandToATerminal) {
  ServedProcess server(store(), {"--log"});
  for (const std::string& path :
       {std::string("/\x1b[2Ja"),
        std::string("/\x9b"
                    "2Jb"),
        std::string("/\xc2\x9b"
                    "2Jc"),
        std::string("/\x7f"
                    "d"),
        std::string("/\xff"
                    "e"),
        std::string("/%1b[2Jf"), std::string("/a\rg"), std::string("/a\nh"),
        std::string("/\xe2\x80\xae"
                    "i")})
    for (const std::string& method : {std::string("GET"), "GE" + path.substr(1)})
      RawClient(server.port(), asking(method, path)).answer();
  RawClient(server.port(), "GET /j HTTP/1.1\r\nHost: \x1b[2J\r\n\r\n").answer();
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
  const std::string log = server.stop().err;
  EXPECT_THAT(log, HasSubstr("%1b[2Jf 404"));
  EXPECT_THAT(log, HasSubstr("/health 200"));
  for (const char letter : log)
    EXPECT_TRUE(letter == '\n' || (letter >= ' ' && letter <= '~')) << int(letter) << " in " << log;
}

TEST_F(HostileToServe, MoreConnectionsThanFilesMayBeOpen) {
  const ServedProcess server(store(), {"--read-seconds", "600", "--idle-seconds", "600"}, [] {
    const rlimit limit{100, 100};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  });
  std::deque<RawClient> waiting;
  for (int i = 0; i < 300; ++i) waiting.emplace_back(server.port(), i % 2 == 0 ? "" : "GET / HTT");
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
  const double before = server.cpu_seconds();
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(server.cpu_seconds() - before, 0.2) << "it works for nobody";
  waiting.clear();
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
}

TEST_F(HostileToServe, NothingIsDoneForThoseThatHaveLeft) {
  const ServedProcess server(store(), {});
  const std::string text = R"({"prompt":"a","max_tokens":100000,"ignore_eos":true,"stream":true})";
  const std::string write = asking("POST", "/v1/completions", text);
  for (int i = 0; i < 20; ++i) {
    RawClient(server.port(), asking("GET", "/health") + asking("GET", "/health"));
    RawClient(server.port(), write + write).until("data: ");
    RawClient(server.port(), write + asking("GET", "/health")).reset();
  }
  double spent = 1;
  for (int i = 0; i < 600 && spent > 0.1; ++i) {  // what had begun ends first
    const double before = server.cpu_seconds();
    std::this_thread::sleep_for(500ms);
    spent = server.cpu_seconds() - before;
  }
  EXPECT_LE(spent, 0.1) << "it works for nobody";
}

}  // namespace
}  // namespace tessera::cli
