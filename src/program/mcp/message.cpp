#include "program/mcp/message.h"

#include "program/jobs/job.h"
#include "tessera/base/error.h"

namespace tessera::mcp {
namespace {

using config::Json;

bool is_id(const nlohmann::json& value) {
  return value.is_string() || value.is_number_integer();
}

void expect(bool holds, const nlohmann::json& id, const std::string& message) {
  if (holds) return;
  ProtocolError error(ErrorCode::kInvalidRequest, message);
  error.id = id;
  throw error;
}

nlohmann::json parsed(std::string_view line) {
  try {
    return config::parse_sorted_json(line, "the message");
  } catch (const DataError& error) {
    throw ProtocolError(ErrorCode::kParseError, error.what());
  }
}

std::string message_with(Json more) {
  Json json = {{"jsonrpc", "2.0"}};
  json.update(std::move(more));
  return jobs::json_line(json);
}

}  // namespace

Message parse_message(std::string_view line) {
  nlohmann::json json = parsed(line);
  expect(!json.is_array(), nullptr, "batches are not supported; send one message a line");
  expect(json.is_object(), nullptr, "a message is a JSON object");
  const auto method = json.find("method");
  // Answering an answer, even a wrong one, could go on for ever.
  if (method == json.end() && (json.contains("result") || json.contains("error"))) return {};
  Message message;
  if (const auto id = json.find("id"); id != json.end()) {
    expect(is_id(*id), nullptr, "'id' must be a string or a whole number");
    message.id = *id;
  }
  expect(json.value("jsonrpc", nlohmann::json()) == "2.0", message.id, "'jsonrpc' must be \"2.0\"");
  expect(method != json.end(), message.id, "'method' is missing");
  expect(method->is_string() && !method->get_ref<const std::string&>().empty(), message.id,
         "'method' must be a string that is not empty");
  message.method = method->get<std::string>();
  if (const auto params = json.find("params"); params != json.end()) {
    expect(params->is_object(), message.id, "'params' must be an object");
    message.params = std::move(*params);
  }
  return message;
}

std::string result_line(const nlohmann::json& id, Json result) {
  return message_with({{"id", id}, {"result", std::move(result)}});
}

std::string error_line(const nlohmann::json& id, const ProtocolError& error) {
  Json json = {{"code", static_cast<int>(error.code)}, {"message", error.what()}};
  if (!error.data.is_null()) json["data"] = error.data;
  return message_with({{"id", id}, {"error", std::move(json)}});
}

std::string notification_line(std::string_view method, Json params) {
  return message_with({{"method", method}, {"params", std::move(params)}});
}

}  // namespace tessera::mcp
