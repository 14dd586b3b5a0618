#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/serve/http.h"

namespace tessera::serve {

struct AccessOptions {
  std::vector<std::string> keys = {};  ///< one of which a request must bring; none: anybody may ask
  std::vector<std::string> hosts = {};  ///< further names that this server is reached under
  std::string origin = {};              ///< of pages elsewhere that may use the API ("" for none)
};

/// Who may ask for what.
class Access {
 public:
  explicit Access(const AccessOptions& options);

  /// The answer to a request that is refused:
  ///   403 where its Host is a name that is not this server's (DNS rebinding: a page elsewhere has
  ///       its own name resolve to this machine; addresses cannot be taken so), or where it comes
  ///       from a page of another origin;
  ///   401 without a key. /health and the page's files need none.
  /// Keys are compared in constant time.
  std::optional<Response> refusal(const Request& request) const;
  /// Whom a request's work is counted for: its key where that is one of this server's, or else the
  /// address that it came from.
  std::string asker_of(const Request& request) const;
  /// The headers that let the allowed origin read an answer.
  void add_headers(const Request& request, Response& response) const;

  /// What the page is made of, by path.
  void open(const std::string& path) { open_.insert(path); }
  /// Whether it is answered without a key.
  bool is_open(const Request& request) const { return open_.contains(request.path); }

 private:
  bool is_own_host(const std::string& host) const;
  bool is_own_origin(const Request& request) const;
  bool has_key(const Request& request) const;

  AccessOptions options_;
  std::vector<std::string> digests_;  // of the keys
  std::set<std::string> open_ = {"/health"};
};

/// Whether a browser asks what a page of another origin may send (CORS). It brings no key.
bool is_preflight(const Request& request);
/// Whether this is a scheme, http or https, and a host, with a port or none, and no more.
bool is_origin(const std::string& text);
/// Whether only programs of this machine reach a server there.
bool is_local(const std::string& host);

}  // namespace tessera::serve
