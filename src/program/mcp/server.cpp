#include "program/mcp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/version.h"

namespace tessera::mcp {
namespace {

using config::Json;

constexpr std::string_view kRevision = "2026-07-28";
constexpr std::array<std::string_view, 3> kEarlierRevisions = {"2025-11-25", "2025-06-18",
                                                               "2024-11-05"};
constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kServerKey = "io.modelcontextprotocol/serverInfo";
constexpr const char* kSubscriptionKey = "io.modelcontextprotocol/subscriptionId";

constexpr size_t kMostWaiting = 64;              // requests; more stay unread
constexpr int64_t kFreshMilliseconds = 3600000;  // the tools never change
constexpr auto kBetweenNotes = std::chrono::milliseconds(100);

constexpr const char* kInstructions =
    "A memory of documents that stays on this machine. recall continues a text word for word as a "
    "stored document does and names the document and line of each word; search finds passages by "
    "their words, find the places of a given text. memorize adds a document, forget removes "
    "documents as if the memory had never held them. Nothing is made up: a recital that is not "
    "sure of a word ends.";

Json server_info() {
  return {{"name", "tessera"}, {"title", "Tessera"}, {"version", version()}};
}

Json capabilities() {
  return {{"tools", Json::object()}};
}

ProtocolError invalid_params(const std::string& message) {
  return {ErrorCode::kInvalidParams, message};
}

/// A parameter that is an object, empty where there is none.
const nlohmann::json& object_in(const nlohmann::json& params, const char* name) {
  static const nlohmann::json nothing = nlohmann::json::object();
  const auto found = params.find(name);
  if (found == params.end()) return nothing;
  if (!found->is_object()) throw invalid_params(fmt::format("'{}' must be an object", name));
  return *found;
}

/// Whether the request says which revision it speaks, which then must be the latest one.
bool is_self_contained(const nlohmann::json& meta) {
  const auto revision = meta.find(kVersionKey);
  if (revision == meta.end()) return false;
  if (!revision->is_string())
    throw invalid_params(fmt::format("'{}' must be a string", kVersionKey));
  if (*revision != kRevision)
    throw ProtocolError(ErrorCode::kUnsupportedVersion, "unsupported protocol version",
                        {{"supported", Json::array({kRevision})}, {"requested", *revision}});
  if (!meta.contains(kCapabilitiesKey) || !meta[kCapabilitiesKey].is_object())
    throw invalid_params(fmt::format("'{}' must be an object", kCapabilitiesKey));
  return true;
}

/// The revision of a session: the client's own if it is known, else the latest of those.
std::string agreed_revision(const nlohmann::json& params) {
  const auto asked = params.find("protocolVersion");
  if (asked == params.end() || !asked->is_string())
    throw invalid_params("'protocolVersion' must be a string");
  const auto known = std::ranges::find(kEarlierRevisions, asked->get_ref<const std::string&>());
  return std::string(known == kEarlierRevisions.end() ? kEarlierRevisions.front() : *known);
}

/// Tells a client how far its call is, ten times a second at most. A job counts each of its parts
/// from 0; what the client is told only grows.
class ProgressNotes {
 public:
  /// token: the client's, null where it does not want any.
  ProgressNotes(nlohmann::json token, std::string_view doing, const Server::Send& send)
      : token_(std::move(token)), doing_(doing), send_(send) {}

  void operator()(int64_t done, int64_t of) {
    if (token_.is_null()) return;
    if (done < done_ || of != of_) before_ += done_;  // another part
    done_ = done;
    of_ = of;
    const auto now = Clock::now();
    if (before_ + done_ <= told_ || (told_ >= 0 && now - when_ < kBetweenNotes)) return;
    told_ = before_ + done_;
    when_ = now;
    Json note = {{"progressToken", token_}, {"progress", told_}};
    if (of > 0) note["total"] = before_ + of;
    if (!doing_.empty()) note["message"] = doing_;
    send_(notification_line("notifications/progress", std::move(note)));
  }

 private:
  using Clock = std::chrono::steady_clock;

  nlohmann::json token_;
  std::string_view doing_;
  const Server::Send& send_;
  int64_t before_ = 0;  // of the parts that are done
  int64_t done_ = 0, of_ = 0, told_ = -1;
  Clock::time_point when_ = {};
};

enum class Caching { kNone, kAllowed };

/// A result as the latest revision wants it, where the request speaks that one.
Json completed(Json result, bool self_contained, Caching caching = Caching::kNone) {
  if (!self_contained) return result;
  result["resultType"] = "complete";
  result["_meta"][kServerKey] = server_info();
  if (caching == Caching::kAllowed) {
    result["ttlMs"] = kFreshMilliseconds;
    result["cacheScope"] = "public";
  }
  return result;
}

Json text_content(const std::string& text) {
  return Json::array({{{"type", "text"}, {"text", text}}});
}

Json failure(const std::string& message) {
  return {{"content", text_content(message)}, {"isError", true}};
}

}  // namespace

Server::Server(std::vector<Tool> tools, LineReader& lines, Send send)
    : tools_(std::move(tools)), lines_(lines), send_(std::move(send)) {}

void Server::run() {
  while (!InterruptGuard::interrupted()) {
    if (waiting_.empty()) {
      const auto line = lines_.next();
      if (!line) return;
      take_in(*line);
      continue;
    }
    const Message request = std::move(waiting_.front());
    waiting_.pop_front();
    current_ = request.id;
    cancelled_ = false;
    answer(request);
    current_ = nullptr;
  }
}

/// A request waits for its turn; anything else is dealt with at once.
void Server::take_in(const LineReader::Line& line) {
  try {
    if (line.too_long)
      throw ProtocolError(ErrorCode::kInvalidRequest,
                          fmt::format("the message has more than {} bytes", LineReader::kLongest));
    if (line.text.find_first_not_of(" \t\r") == std::string::npos) return;
    Message message = parse_message(line.text);
    if (message.id.is_null()) {  // a notification, or an answer to nothing
      if (message.method == "notifications/cancelled")
        cancel(message.params.value("requestId", nlohmann::json()));
      return;
    }
    if (message.method == "ping")
      answer(message);
    else
      waiting_.push_back(std::move(message));
  } catch (const ProtocolError& error) {
    send_(error_line(error.id, error));
  }
}

void Server::cancel(const nlohmann::json& id) {
  if (!id.is_null() && id == current_) cancelled_ = true;
  std::erase_if(waiting_, [&](const Message& request) { return request.id == id; });
}

/// While a call is done: takes in what has come. Throws Interrupted where the call is to end.
void Server::look_up() {
  while (waiting_.size() < kMostWaiting) {
    const auto line = lines_.at_hand();
    if (!line) break;
    take_in(*line);
  }
  if (cancelled_) throw Interrupted("cancelled");
  InterruptGuard::stop_if_interrupted("interrupted");
}

void Server::answer(const Message& request) {
  try {
    send_(result_line(request.id, result_of(request)));
  } catch (const ProtocolError& error) {
    send_(error_line(request.id, error));
  } catch (const Interrupted&) {
    if (!cancelled_) throw;
  }
}

Json Server::result_of(const Message& request) {
  const std::string& method = request.method;
  const bool self_contained = is_self_contained(object_in(request.params, "_meta"));
  if (!self_contained && !session_ && method != "initialize" && method != "ping")
    throw invalid_params(fmt::format(
        "'_meta' must name the revision in '{}'; or begin with initialize", kVersionKey));
  if (method == "tools/call") return completed(call(request), self_contained);
  if (method == "tools/list")
    return completed(list(request.params), self_contained, Caching::kAllowed);
  if (self_contained && method == "server/discover")
    return completed({{"supportedVersions", Json::array({kRevision})},
                      {"capabilities", capabilities()},
                      {"instructions", kInstructions}},
                     self_contained, Caching::kAllowed);
  if (self_contained && method == "subscriptions/listen") return subscription(request);
  if (!self_contained && method == "initialize") {
    session_ = agreed_revision(request.params);
    return {{"protocolVersion", *session_},
            {"capabilities", capabilities()},
            {"serverInfo", server_info()},
            {"instructions", kInstructions}};
  }
  if (!self_contained && method == "ping") return Json::object();
  throw ProtocolError(ErrorCode::kMethodNotFound,
                      fmt::format("there is no method '{}'", method.substr(0, 60)));
}

/// All tools are on the first page, which has no cursor.
Json Server::list(const nlohmann::json& params) const {
  if (!params.value("cursor", nlohmann::json()).is_null())
    throw invalid_params("there is no 'cursor': the list has one page");
  Json tools = Json::array();
  for (const Tool& tool : tools_) tools.push_back(json_of(tool));
  return {{"tools", std::move(tools)}};
}

/// Nothing that a client could be notified of ever changes: a subscription to nothing, which ends.
Json Server::subscription(const Message& request) {
  const Json meta = {{kSubscriptionKey, request.id}};
  send_(notification_line("notifications/subscriptions/acknowledged",
                          {{"_meta", meta}, {"notifications", Json::object()}}));
  return completed({{"_meta", meta}}, /*self_contained=*/true);
}

/// What a job refuses or fails at is a result, for the assistant to read and to mend.
Json Server::call(const Message& request) {
  const auto name = request.params.find("name");
  if (name == request.params.end() || !name->is_string())
    throw invalid_params("'name' must be a string");
  const auto tool =
      std::ranges::find(tools_, std::string_view(name->get_ref<const std::string&>()), &Tool::name);
  if (tool == tools_.end())
    throw invalid_params(
        fmt::format("there is no tool '{}'", name->get_ref<const std::string&>().substr(0, 60)));
  const nlohmann::json& arguments = object_in(request.params, "arguments");
  const nlohmann::json& meta = object_in(request.params, "_meta");
  ProgressNotes notes(meta.value("progressToken", nlohmann::json()), tool->doing, send_);
  const auto on_progress = [&](int64_t done, int64_t of) {
    try {
      look_up();
      notes(done, of);
    } catch (const SystemError&) {  // an edit is finished, although its client has gone
      if (tool->effect != Effect::kEdits) throw;
    }
  };
  try {
    const Json answer = tool->call(arguments, on_progress);
    return {{"content", text_content(jobs::json_line(answer))}, {"structuredContent", answer}};
  } catch (const Interrupted&) {
    throw;
  } catch (const std::bad_alloc&) {
    return failure("out of memory");
  } catch (const std::exception& error) {
    return failure(error.what());
  }
}

}  // namespace tessera::mcp
