#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace tessera::hosts {

/// What is at the other end of an address does not answer, or not as it should.
class HostError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The address of a store, "http://HOST[:PORT]/PATH" or with https, without a last '/'. Throws
/// UsageError on anything else.
std::string checked_address(const std::string& text);

/// A request to a host: with a body a POST, else a GET.
struct HostRequest {
  std::string path = {};  ///< behind the address
  std::string content_type = {}, body = {};
  size_t most_bytes = 0;  ///< of the answer's body
};

/// An answer of a host.
struct HostAnswer {
  int status = 0;
  std::string body = {};
};

/// Asks one host over HTTP (libcurl). Its answers are not trusted: each must come whole within a
/// time limit, whatever the host sends meanwhile, and within limits of size. Redirections are not
/// followed and proxies not asked. The connection is kept for the next request. For one thread at a
/// time.
class HttpClient {
 public:
  /// address: a checked one. seconds: time limit of one request. key: sent as "Authorization:
  /// Bearer KEY"; "" for none. unwanted: asked about once a second while a request is under way,
  /// which is given up where it is true; it must not throw.
  HttpClient(std::string address, double seconds, const std::string& key,
             std::function<bool()> unwanted = {});

  /// Throws HostError; Interrupted where it is given up.
  HostAnswer ask(const HostRequest& request);

 private:
  std::string address_, authorization_;
  double seconds_;
  std::function<bool()> unwanted_;
  std::unique_ptr<void, void (*)(void*)> connection_;  // libcurl's
};

}  // namespace tessera::hosts
