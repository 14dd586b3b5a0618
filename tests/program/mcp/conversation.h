#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "program/mcp/server.h"

namespace tessera::mcp {

using config::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A stream that holds a text and ends.
class TextStream {
 public:
  explicit TextStream(const std::string& text) : descriptor_(::memfd_create("text", 0)) {
    EXPECT_EQ(::write(descriptor_, text.data(), text.size()), std::ssize(text));
    ::lseek(descriptor_, 0, SEEK_SET);
  }
  ~TextStream() { ::close(descriptor_); }
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// What a server of these tools sends, if all lines have come before it reads the first one.
inline std::vector<Json> conversation(std::vector<Tool> tools,
                                      const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  const TextStream stream(text);
  LineReader reader(stream.descriptor());
  std::vector<Json> sent;
  Server(std::move(tools), reader, [&](const std::string& line) {
    EXPECT_EQ(line.find('\n'), std::string::npos);
    sent.push_back(Json::parse(line));
  }).run();
  return sent;
}

/// A request of the latest revision.
inline std::string request(const Json& id, const std::string& method,
                           Json params = Json::object()) {
  params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
  params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Json::object();
  return Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}.dump();
}

inline std::string call(const Json& id, const std::string& tool,
                        const Json& arguments = Json::object()) {
  return request(id, "tools/call", {{"name", tool}, {"arguments", arguments}});
}

inline std::string cancelled(const Json& id) {
  return Json{
      {"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}}
      .dump();
}

}  // namespace tessera::mcp
