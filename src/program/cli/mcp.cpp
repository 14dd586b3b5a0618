// tessera mcp --store DIR

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>

#include "program/cli/program.h"
#include "program/mcp/line_reader.h"
#include "program/mcp/server.h"
#include "program/mcp/store_tools.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"

namespace tessera::cli {
namespace {

void print_line(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  if (std::fflush(stdout) != 0) throw SystemError("standard output", "write", errno);
}

void run_mcp(const mcp::StoreAccess& access) {
  std::signal(SIGPIPE, SIG_IGN);  // an edit is finished, although its client has gone
  const InterruptGuard interrupt;
  mcp::LineReader lines(STDIN_FILENO);
  mcp::Server(mcp::tools_of(access), lines, print_line).run();
}

}  // namespace

void add_mcp(Verb& program) {
  const auto access = std::make_shared<mcp::StoreAccess>();
  Verb& verb = program.verb(
      "mcp",
      "Offer a store to an assistant as tools, by the Model Context Protocol on standard input and "
      "output");
  verb.option("--store", access->store, "The store, a folder").required();
  verb.flag("--read-only", access->read_only, "Offer only the tools that change nothing");
  const auto certificates = verb.option("--certificates", access->certificates,
                                        "Folder for certificates: the tool forget can then write "
                                        "one, under a name that the assistant gives");
  verb.option("--key", access->key,
              "File with an Ed25519 private key (PEM) that signs the certificates")
      .needs(certificates);
  verb.run([access] { run_mcp(*access); });
}

}  // namespace tessera::cli
