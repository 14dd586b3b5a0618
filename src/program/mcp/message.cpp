#include "program/mcp/message.h"

#include <charconv>

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

/// The line without halves of characters: what JavaScript writes of a text that it has cut there,
/// "\ud83d", which is no JSON.
std::string without_halves(std::string_view line) {
  std::string whole(line);
  const auto code_at = [&](size_t place) -> int {  // of "\ud83d"; -1: there is none
    if (whole.compare(place, 2, "\\u") != 0 || place + 6 > whole.size()) return -1;
    int code = -1;
    std::from_chars(&whole[place + 2], &whole[place] + 6, code, 16);
    return code;
  };
  for (size_t place = 0; (place = whole.find('\\', place)) != std::string::npos;) {
    const int code = code_at(place), next = code < 0 ? -1 : code_at(place + 6);
    const bool leads = code >= 0xd800 && code < 0xdc00, follows = code >= 0xdc00 && code < 0xe000;
    const bool is_pair = leads && next >= 0xdc00 && next < 0xe000;
    if (!is_pair && (leads || follows)) whole.replace(place, 6, "\\ufffd");
    place += code < 0 ? 2 : is_pair ? 12 : 6;
  }
  return whole;
}

nlohmann::json parsed(std::string_view line) {
  try {
    return config::parse_sorted_json(line, "the message");
  } catch (const DataError& error) {
    ProtocolError refusal(ErrorCode::kParseError, error.what());
    try {  // for the id: a client waits for the answer to that
      const auto json = config::parse_sorted_json(without_halves(line), "the message");
      refusal = {ErrorCode::kParseError,
                 "the message holds half a character, such as \"\\ud83d\" without its other half"};
      if (json.is_object() && json.contains("id") && is_id(json["id"])) refusal.id = json["id"];
    } catch (const DataError&) {
    }
    throw refusal;
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
  if (const auto params = json.find("params"); params != json.end() && !params->is_null()) {
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
