#pragma once

#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "program/mcp/line_reader.h"
#include "program/mcp/message.h"
#include "program/mcp/tool.h"

namespace tessera::mcp {

/// Offers tools by the Model Context Protocol, in one thread. It speaks the revision 2026-07-28, in
/// which every request names its revision, and to clients that begin with `initialize` those of
/// 2025-11-25, 2025-06-18 and 2024-11-05. (2025-03-26 demands batches, which no other one has.)
///
/// Calls are done one after the other. While one is done the server looks, as often as the job
/// tells its progress, at what has come meanwhile: a cancelled call ends there and is not answered,
/// or is never begun where it waits; `ping` is answered at once.
class Server {
 public:
  /// Sends one line, without its end.
  using Send = std::function<void(const std::string& line)>;

  Server(std::vector<Tool> tools, LineReader& lines, Send send);

  /// Answers every line until there are no more, or a signal has come (InterruptGuard). Throws
  /// Interrupted where a signal ended a call, and whatever `send` and the reader throw.
  void run();

 private:
  void take_in(const LineReader::Line& line);
  void cancel(const nlohmann::json& id);
  void look_up();
  void answer(const Message& request);
  config::Json result_of(const Message& request);
  config::Json list(const nlohmann::json& params) const;
  config::Json subscription(const Message& request);
  config::Json call(const Message& request);

  const std::vector<Tool> tools_;
  LineReader& lines_;
  const Send send_;
  std::optional<std::string> session_ = {};  // the revision that `initialize` agreed on
  std::deque<Message> waiting_ = {};         // requests
  nlohmann::json current_ = nullptr;         // id of the request that is being answered
  bool cancelled_ = false;                   // it was
};

}  // namespace tessera::mcp
