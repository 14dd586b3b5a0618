#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/base/config.h"

/// A tool server for assistants: the Model Context Protocol over standard input and output. It
/// knows the jobs on a store and no network.
namespace tessera::mcp {

/// Of JSON-RPC 2.0, and of the Model Context Protocol, which reserves the last one.
enum class ErrorCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kUnsupportedVersion = -32022,
};

/// A message that is answered with an error of JSON-RPC.
class ProtocolError : public std::runtime_error {
 public:
  ProtocolError(ErrorCode error, const std::string& message, config::Json more = nullptr)
      : std::runtime_error(message), code(error), data(std::move(more)) {}

  ErrorCode code;
  config::Json data;            ///< null: there is none
  nlohmann::json id = nullptr;  ///< of the request, where parse_message() could read it
};

/// A request or a notification of JSON-RPC 2.0; of an answer, which nobody waits for, nothing.
struct Message {
  nlohmann::json id = nullptr;  ///< a text or a whole number; null of a notification
  std::string method = {};
  nlohmann::json params = nlohmann::json::object();
};

/// One line as a message. Throws ProtocolError: kParseError where it is not JSON, or nested deeper
/// than 100 levels; kInvalidRequest where it is another value than a message, also a batch.
Message parse_message(std::string_view line);

/// Messages as lines of JSON (jobs::json_line).
std::string result_line(const nlohmann::json& id, config::Json result);
/// id: null where it is not known (JSON-RPC 2.0, section 5).
std::string error_line(const nlohmann::json& id, const ProtocolError& error);
std::string notification_line(std::string_view method, config::Json params);

}  // namespace tessera::mcp
