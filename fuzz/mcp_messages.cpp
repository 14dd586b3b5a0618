// Any bytes on the standard input of tessera mcp: whatever is sent is a message of JSON-RPC 2.0 on
// one line, no request is answered twice, and what follows the bytes is answered.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/seeds.h"
#include "program/mcp/server.h"

using namespace tessera;
using namespace tessera::mcp;

namespace {

constexpr const char* kLast =
    "\n{\"jsonrpc\":\"2.0\",\"id\":\"the last one\",\"method\":\"ping\"}\n";

/// A request with a field of each kind.
struct Words {
  std::string text = {};
  int64_t count = 1;
  std::vector<std::string> more = {};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("text", text, "text", config::required());
    field("count", count, "count", config::between(1, 9));
    field("more", more, "more");
  }
};

Tool echo() {
  return {.name = "echo",
          .help = "Says it again",
          .schema = schema_of(config::fields_of(Words())),
          .call = [](const nlohmann::json& arguments, const OnProgress& on_progress) {
            Words words;
            config::from_json(config::Json(arguments), words, "");
            if (words.count < 1 || words.count > 9) std::abort();
            for (int64_t done = 0; done < words.count; ++done) on_progress(done, words.count);
            return config::to_json(words);
          }};
}

void check(const std::string& line, bool& answered) {
  if (line.find('\n') != std::string::npos) std::abort();
  const auto message = nlohmann::json::parse(line);
  if (message.at("jsonrpc") != "2.0") std::abort();
  if (message.contains("result") + message.contains("error") + message.contains("method") != 1)
    std::abort();
  answered = answered || message.value("id", nlohmann::json()) == "the last one";
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::write_seeds(
      *argc, *argv,
      {{"session",
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})"
        "\n"
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":)"
        R"({"text":"a","count":3,"more":["b"]},"_meta":{"progressToken":7}}})"
        "\n"
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"},
       {"halves", R"({"jsonrpc":"2.0","id":1,"method":"\ud83d\ude00\\ud83d \ud83d\\u\udc00"})"},
       {"request", R"({"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":)"
                   R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                   R"("io.modelcontextprotocol/clientCapabilities":{}}}})"}});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int stream = ::memfd_create("input", 0);
  static const std::vector<Tool> tools = {echo()};
  const std::string text = std::string(reinterpret_cast<const char*>(data), size) + kLast;
  if (::ftruncate(stream, 0) != 0 ||
      ::pwrite(stream, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ::lseek(stream, 0, SEEK_SET) != 0)
    std::abort();
  bool answered = false;
  LineReader lines(stream, /*longest=*/4096);
  Server(tools, lines, [&](const std::string& line) { check(line, answered); }).run();
  if (!answered) std::abort();
  return 0;
}
