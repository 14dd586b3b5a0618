#pragma once

#include <boost/beast/core/string.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::serve {

/// A request as the routes see it.
struct Request {
  std::string method;  ///< "GET"
  std::string path;    ///< as it was sent, still percent-encoded, without the query
  std::multimap<std::string, std::string> query;
  std::map<std::string, std::string, boost::beast::iless> headers;  ///< whatever their case
  std::string body;
  std::string client;                         ///< address that it came from
  std::string asker;                          ///< whom its work is counted for (Access::asker_of)
  std::map<std::string, std::string> values;  ///< of the route's placeholders, by their names

  /// Whether nobody waits for the answer any more.
  std::function<bool()> hung_up = [] { return false; };
  /// Whether the client has closed its sending side: it may have gone.
  std::function<bool()> may_have_gone = [] { return false; };

  /// Takes `path` and `query` from the target of a request's first line: "/path?name=value&…", also
  /// behind "http://host".
  void set_target(std::string_view target);
  /// The header's value, or "".
  std::string header(const std::string& name) const;
  /// The value of "?name=", or `otherwise`.
  std::string parameter(const std::string& name, const std::string& otherwise = "") const;
};

/// Where an answer of server-sent events goes.
class EventStream {
 public:
  virtual ~EventStream() = default;
  /// Sends one event (WHATWG HTML, section 9.2); `data` has no newline. Returns false where the
  /// client has hung up.
  virtual bool send(std::string_view data) = 0;
  /// Sends a comment, which clients ignore: a sign of life. Returns as send() does.
  virtual bool send_comment() = 0;
};

/// An answer: a body, or events that are written one by one as they come.
struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::function<void(EventStream&)> events = {};  ///< writes all events; then the answer ends
  std::string route = {};                         ///< pattern of the route that gave it
  bool follows = false;  ///< its events come as long as something else goes on
  std::shared_ptr<const void> until_sent = {};  ///< released once the last byte is sent, or cannot

  /// A stream of events.
  static Response of_events(std::function<void(EventStream&)> events);
};

using Handler = std::function<Response(const Request&)>;

/// Undoes percent-encoding; a % that begins no two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

}  // namespace tessera::serve
