#include "program/serve/access.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <boost/beast/core/string.hpp>

#include "program/serve/api_error.h"
#include "tessera/store/digest.h"

namespace tessera::serve {
namespace {

namespace beast = boost::beast;

/// "localhost" of "localhost:8080", "::1" of "[::1]:8080".
std::string without_port(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// KEY of "Authorization: Bearer KEY"; empty where there is none.
std::string given_key(const Request& request) {
  const std::string scheme = "Bearer ", header = request.header("Authorization");
  const bool given = beast::iequals(header.substr(0, scheme.size()), scheme);
  return given ? header.substr(scheme.size()) : "";
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address;
  return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

}  // namespace

Access::Access(const AccessOptions& options) : options_(options) {
  for (const auto& key : options.keys) digests_.push_back(store::text_digest(key));
}

bool Access::is_own_host(const std::string& host) const {
  const std::string name = without_port(host);
  const auto is_named = [&](const std::string& known) { return beast::iequals(known, name); };
  return is_address(name) || is_named("localhost") || std::ranges::any_of(options_.hosts, is_named);
}

bool Access::is_own_origin(const Request& request) const {
  const std::string origin = request.header("Origin");
  const std::string host = request.header("Host");
  return origin.empty() || origin == "http://" + host || origin == "https://" + host ||
         origin == options_.origin;
}

bool Access::has_key(const Request& request) const {
  const std::string given = store::text_digest(given_key(request));
  bool found = false;
  for (const auto& key : digests_)
    found |= ::CRYPTO_memcmp(key.data(), given.data(), given.size()) == 0;
  return found;
}

std::optional<Response> Access::refusal(const Request& request) const {
  // A client of HTTP/1.0 need not name the Host; browsers always do.
  if (const std::string host = request.header("Host");
      request.headers.contains("Host") && !is_own_host(host))
    return ApiError(403,
                    "the Host is '{}', expected localhost, an address, or a name given with "
                    "--allowed-host",
                    host)
        .with_code("unknown_host")
        .response();
  if (!is_own_origin(request))
    return ApiError(403,
                    "pages of {} may not use this server; tessera serve --cors allows one "
                    "origin",
                    request.header("Origin"))
        .with_code("unknown_origin")
        .response();
  if (digests_.empty() || is_open(request) || is_preflight(request) || has_key(request))
    return std::nullopt;
  return ApiError(401, "expected a key of this server as 'Authorization: Bearer KEY'")
      .with_code("invalid_api_key")
      .response();
}

std::string Access::asker_of(const Request& request) const {
  return has_key(request) ? "key " + given_key(request) : request.client;
}

void Access::add_headers(const Request& request, Response& response) const {
  if (options_.origin.empty() || request.header("Origin") != options_.origin) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", options_.origin);
  response.headers.emplace_back("Access-Control-Expose-Headers", "Retry-After");
  response.headers.emplace_back("Vary", "Origin");
  if (request.method != "OPTIONS") return;
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE");
  // Clients of OpenAI's API add headers of their own; "*" would not stand for Authorization.
  const std::string asked = request.header("Access-Control-Request-Headers");
  response.headers.emplace_back("Access-Control-Allow-Headers",
                                asked.empty() ? "Authorization, Content-Type" : asked);
}

bool is_preflight(const Request& request) {
  return request.method == "OPTIONS" && !request.header("Origin").empty();
}

bool is_origin(const std::string& text) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (text.starts_with(scheme))
      return text.size() > scheme.size() &&
             text.find_first_of("/?# \t*", scheme.size()) == std::string::npos;
  return false;
}

bool is_local(const std::string& host) {
  return host == "localhost" || host == "::1" || (is_address(host) && host.starts_with("127."));
}

}  // namespace tessera::serve
