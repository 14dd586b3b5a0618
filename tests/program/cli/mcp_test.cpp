// tessera mcp: how it begins and ends. What it says in between is in tests/program/mcp.

#include <unistd.h>

#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

class Mcp : public Workplace {
 protected:
  Mcp() { done({"memo", "create", store_, "--dimension", "64"}); }

  const std::string store_ = path("store");
};

TEST_F(Mcp, EndsWithItsInput) {
  const Outcome run =
      tessera({"mcp", "--store", store_},
              {.input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{}\n"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(
      run.out,
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"'jsonrpc' must "
      "be \\\"2.0\\\"\"}}\n");
}

TEST_F(Mcp, ASignalEndsItWhileItWaits) {
  run_verbs({});
  for (const int signal_number : {SIGTERM, SIGINT}) {
    Process server([&] {
      int input[2];  // on which nothing ever comes
      if (::pipe(input) != 0 || ::dup2(input[0], STDIN_FILENO) < 0) return -1;
      return run_verbs({"tessera", "mcp", "--store", store_});
    });
    server.wait_until([&] { return server.handles(signal_number); });
    server.send(signal_number);
    const Outcome ended = server.wait();
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.out + ended.err, "");
  }
}

TEST_F(Mcp, WhatIsWrongIsSaidBeforeItBegins) {
  expect_refused(tessera({"mcp"}), 2, "--store is required");
  expect_refused(tessera({"mcp", "--store", path("none")}), 3, "is not a memo store");
  expect_refused(tessera({"mcp", "--store", store_, "--certificates", path("none")}), 2,
                 "none' is not a folder");
  expect_refused(tessera({"mcp", "--store", store_, "--key", path("key")}), 2, "--certificates");
}

}  // namespace
}  // namespace tessera::cli
