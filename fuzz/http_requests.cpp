// Any bytes on a connection, in pieces of any sizes, read as the server reads them: the same
// requests as if all came at once, and the same refusal; none of them larger than it may be, none
// whose end two readers could see at different places; and every request gets one answer of a
// router. The first byte chooses the size of the pieces. Run it with -max_len=2048.
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

#include "fuzz/seeds.h"
#include "program/serve/access.h"
#include "program/serve/http_messages.h"
#include "program/serve/router.h"

using namespace tessera;
using namespace tessera::serve;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

namespace {

constexpr size_t kFewHeadBytes = 1000, kBodyBytes = 300, kBufferBytes = 2000;

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
bool has_one_end(const RequestHead& head, const std::string& body) {
  const auto lengths = head.count(http::field::content_length);
  if (head.count(http::field::transfer_encoding) > 0) return lengths == 0 && head.chunked();
  const auto first = head[http::field::content_length];
  for (const auto& field : head)
    if (field.name() == http::field::content_length && field.value() != first) return false;
  uint64_t length = 0;
  const auto [end, failure] = std::from_chars(first.begin(), first.end(), length);
  return length == body.size() && (lengths == 0 || (end == first.end() && failure == std::errc()));
}

/// What the bytes of a connection are to the server.
struct Read {
  std::vector<Request> requests;
  int refusal = 0;  ///< status of what is answered behind them; 0: nothing is
};

Read read(std::string_view bytes, size_t piece) {
  static const Access access({.keys = {}, .hosts = {"name"}, .origin = "https://page"});
  Read read;
  Bytes stream(bytes, piece);
  beast::flat_buffer buffer(kBufferBytes);
  for (;;) {
    RequestParser parser;
    set_limits(parser, kBodyBytes);
    parser.header_limit(kFewHeadBytes);
    beast::error_code error;
    http::read_header(stream, buffer, parser, error);
    Request request;
    std::optional<Response> refused;
    if (!error) {
      request = request_of(parser.get(), "127.0.0.1");
      refused = access.refusal(request);
      if (!refused) refused = refusal_of_head(parser.get());
    }
    const RequestHead head = parser.get();
    while (!error && !refused && !parser.is_done()) http::read_some(stream, buffer, parser, error);
    if (error) refused = answer_to(error);
    if (refused) read.refusal = refused->status;
    if (error || refused) return read;
    request.body = parser.get().body();
    size_t size = request.method.size() + head.target().size();
    for (const auto& field : head) size += field.name_string().size() + field.value().size();
    if (size > kBufferBytes || request.body.size() > kBodyBytes || !has_one_end(head, request.body))
      std::abort();
    read.requests.push_back(request);
    if (!parser.get().keep_alive()) return read;
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
  const Response response = router.answer(request);
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
  const std::string host = "Host: localhost\r\n";
  fuzz::write_seeds(
      *argc, *argv,
      {{"get", "\x10GET /v1/models/a%20b?x=1&y=%41 HTTP/1.1\r\n" + host + "\r\n"},
       {"two", "\x05POST /v1/completions HTTP/1.1\r\n" + host +
                   "Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n" + host + "\r\n"},
       {"chunks", "\x03POST /v1/completions HTTP/1.1\r\n" + host +
                      "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nA: b\r\n\r\n"},
       {"expect",
        "\x7fPUT / HTTP/1.0\r\n" + host +
            "Expect: 100-continue\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n1"},
       {"page", "\x20OPTIONS / HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: https://page\r\n\r\n"},
       {"trailers", "\x40POST / HTTP/1.1\r\n" + host +
                        "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 3\r\n"
                        "Transfer-Encoding: gzip\r\nHost: name\r\n\r\nabc"},
       {"delete",
        "\x01"
        "DELETE /v1/stores/a/documents/%2f HTTP/1.1\r\nHost: name\r\nConnection: close\r\n\r\n"}});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Read whole = read(bytes, bytes.size()), pieces = read(bytes, 1 + data[0]);
  // How the rest is refused may depend on the pieces: a body that is no body may be too large
  // before that is seen; and so may whether a head is too large, of which Beast counts what it has
  // read without having parsed it.
  constexpr int kLargeHead = 431;
  const size_t both = std::min(pieces.requests.size(), whole.requests.size());
  const bool large = whole.refusal == kLargeHead || pieces.refusal == kLargeHead;
  if (!large && pieces.requests.size() != whole.requests.size()) std::abort();
  for (size_t i = 0; i < both; ++i)
    if (!are_equal(pieces.requests[i], whole.requests[i])) std::abort();
  for (const Request& request : whole.requests) answer(request);
  return 0;
}
