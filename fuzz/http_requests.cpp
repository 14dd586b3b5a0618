// Any bytes on a connection, in pieces of any sizes: the same requests as if all came at once; none
// of them larger than it may be, none whose end two readers could see at different places; and
// every request gets one answer of a router behind the server's access rules. The first byte
// chooses the size of the pieces.
//   mkdir corpus && build/fuzz/fuzz_http_requests -max_len=4096 -max_total_time=60 corpus
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/folder.h"
#include "tessera/serve/access.h"
#include "tessera/serve/router.h"

using namespace tessera;
using namespace tessera::serve;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

namespace {

constexpr size_t kHeadBytes = 1000, kBodyBytes = 300;

/// A connection on which these bytes come, `piece` at a time, and then its end.
class Bytes {
 public:
  Bytes(std::string_view bytes, size_t piece) : bytes_(bytes), piece_(piece) {}

  template <typename Buffers>
  size_t read_some(const Buffers& buffers, beast::error_code& error) {
    const size_t count =
        asio::buffer_copy(buffers, asio::buffer(bytes_.data(), bytes_.size()), piece_);
    bytes_.remove_prefix(count);
    error = {};
    if (count == 0 && asio::buffer_size(buffers) > 0) error = asio::error::eof;
    return count;
  }
  template <typename Buffers>
  size_t read_some(const Buffers& buffers) {
    beast::error_code error;
    return read_some(buffers, error);
  }

 private:
  std::string_view bytes_;
  size_t piece_;
};

/// Whether the end of the request is where each of its headers says.
bool has_one_end(const http::request<http::string_body>& request) {
  const auto lengths = request.count(http::field::content_length);
  const auto encoding = request[http::field::transfer_encoding];
  if (!encoding.empty() && lengths > 0) return false;
  if (!encoding.empty()) return request.chunked();
  const auto first = request[http::field::content_length];
  for (const auto& field : request)
    if (field.name() == http::field::content_length && field.value() != first) return false;
  uint64_t length = 0;
  const auto [end, failure] = std::from_chars(first.begin(), first.end(), length);
  return length == request.body().size() &&
         (lengths == 0 || (end == first.end() && failure == std::errc()));
}

bool is_refused(const http::request<http::string_body>& request) {
  const auto encoding = request[http::field::transfer_encoding];
  return !encoding.empty() && !beast::iequals(encoding, "chunked");
}

Request request_of(const http::request<http::string_body>& from) {
  Request request;
  request.method = std::string(from.method_string());
  request.set_target({from.target().data(), from.target().size()});
  for (const auto& field : from)
    request.headers.emplace(std::string(field.name_string()), std::string(field.value()));
  request.body = from.body();
  request.client = "127.0.0.1";
  return request;
}

/// The requests that a server reads, until one of them is none.
std::vector<Request> requests(std::string_view bytes, size_t piece) {
  std::vector<Request> found;
  Bytes stream(bytes, piece);
  beast::flat_buffer buffer;
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(kHeadBytes);
    parser.body_limit(kBodyBytes);
    beast::error_code error;
    http::read_header(stream, buffer, parser, error);
    while (!error && !parser.is_done()) http::read_some(stream, buffer, parser, error);
    if (error || is_refused(parser.get())) return found;
    const auto& request = parser.get();
    size_t head = 0;
    for (const auto& field : request) head += field.name_string().size() + field.value().size();
    if (head > kHeadBytes || request.body().size() > kBodyBytes || !has_one_end(request))
      std::abort();
    found.push_back(request_of(request));
    if (!request.keep_alive()) return found;
  }
}

Router some_routes() {
  const auto values = [](const Request& request) {
    Response response;
    for (const auto& [name, value] : request.values) {
      if (value.empty()) std::abort();
      response.body += name + value;
    }
    for (const auto& [name, value] : request.query) response.body += name + value;
    return response;
  };
  Router router;
  router.add("GET", "/", values);
  router.add("POST", "/v1/completions", values);
  router.add("GET", "/v1/models/{model}", values);
  router.add("DELETE", "/v1/stores/{store}/documents/{id}", values);
  return router;
}

void answer(const Request& request) {
  static const Router router = some_routes();
  static const Access access({.keys = {"key"}, .hosts = {"name"}, .origin = "https://page"});
  Response response;
  if (const auto refused = access.refusal(request)) {
    response = *refused;
  } else {
    response = router.answer(request);
    access.add_headers(request, response);
  }
  if (response.status < 200 || response.status > 499) std::abort();
  if (response.status >= 400 && !nlohmann::json::parse(response.body).contains("error"))
    std::abort();
  for (const auto& [name, value] : response.headers)
    if (value.find_first_of("\r\n") != std::string::npos) std::abort();
}

bool are_equal(const Request& a, const Request& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.headers == b.headers &&
         a.body == b.body;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::string host = "Host: localhost\r\n", key = host + "Authorization: Bearer key\r\n";
  fuzz::write_seeds(
      *argc, *argv,
      {{"get", "\x10GET /v1/models/a%20b?x=1&y=%41 HTTP/1.1\r\n" + key + "\r\n"},
       {"two", "\x05POST /v1/completions HTTP/1.1\r\n" + key +
                   "Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n" + host + "\r\n"},
       {"chunks", "\x03POST /v1/completions HTTP/1.1\r\n" + key +
                      "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nA: b\r\n\r\n"},
       {"expect",
        "\x7fPUT / HTTP/1.0\r\n" + host +
            "Expect: 100-continue\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n1"},
       {"page", "\x20OPTIONS / HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: https://page\r\n\r\n"},
       {"delete",
        "\x01"
        "DELETE /v1/stores/a/documents/%2f HTTP/1.1\r\nHost: name\r\nConnection: close\r\n\r\n"}});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<Request> whole = requests(bytes, bytes.size());
  if (!std::ranges::equal(requests(bytes, 1 + data[0]), whole, are_equal)) std::abort();
  for (const Request& request : whole) answer(request);
  return 0;
}
