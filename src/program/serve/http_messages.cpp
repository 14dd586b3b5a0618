#include "program/serve/http_messages.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/asio/error.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/write.hpp>
#include <ctime>
#include <sstream>
#include <string_view>

#include "program/serve/api_error.h"

namespace tessera::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// The refusal of a request that is not even read to its end.
Response refusal(int status, const std::string& what) {
  return ApiError(status, "{}", what).response();
}

}  // namespace

void set_limits(RequestParser& parser, int64_t body_bytes) {
  parser.header_limit(kHeadBytes);
  parser.body_limit(static_cast<uint64_t>(body_bytes));
}

Request request_of(const RequestHead& head, const std::string& client) {
  Request request;
  request.method = view(head.method_string());
  request.set_target(view(head.target()));
  for (const auto& field : head)
    request.headers.emplace(view(field.name_string()), view(field.value()));
  request.client = client;
  return request;
}

std::optional<Response> refusal_of_head(const RequestHead& head) {
  const auto encoding = head[http::field::content_encoding];
  if (!encoding.empty() && !beast::iequals(encoding, "identity"))
    return refusal(415, "the body's Content-Encoding is not supported; send it as it is");
  const auto transfer = head[http::field::transfer_encoding];
  const auto transfers = head.count(http::field::transfer_encoding);
  if (transfers > 1 || (transfers == 1 && !beast::iequals(transfer, "chunked")))
    return refusal(501, "the only Transfer-Encoding that is supported is chunked");
  const auto expected = head[http::field::expect];
  if (!expected.empty() && !beast::iequals(expected, "100-continue"))
    return refusal(417, "the only Expect that is supported is 100-continue");
  if (const auto hosts = head.count(http::field::host);
      hosts > 1 || (hosts == 0 && head.version() > 10))
    return refusal(400, fmt::format("the request has {} Hosts, expected one", hosts));
  return std::nullopt;
}

std::optional<Response> answer_to(beast::error_code error) {
  if (error == http::error::body_limit)
    return refusal(413, "the body is too large; tessera serve --max-body allows more");
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return refusal(431, fmt::format("the request's headers have more than {} bytes", kHeadBytes));
  if (error == http::error::end_of_stream || error == http::error::partial_message)
    return std::nullopt;
  if (error.category() == make_error_code(http::error::bad_method).category())
    return refusal(400, "the request is not valid HTTP: " + error.message());
  if (error == beast::error::timeout) return Response{.status = 408};
  if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor)
    return Response{.status = 503};
  return std::nullopt;
}

std::string head_of(const Response& response, const RequestHead& head, std::optional<double> kept,
                    bool chunked) {
  http::response_header<> fields;
  fields.version(head.version());
  fields.result(static_cast<unsigned>(response.status));
  fields.set(http::field::date,
             fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}", fmt::gmtime(std::time(nullptr))));
  if (response.status != 204) fields.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) fields.set(name, value);
  if (chunked)
    fields.set(http::field::transfer_encoding, "chunked");
  else if (!response.events && response.status != 204)
    fields.set(http::field::content_length, std::to_string(response.body.size()));
  if (!kept)
    fields.set(http::field::connection, "close");
  else if (head.version() < 11)
    fields.set(http::field::connection, "keep-alive");
  if (kept) fields.set(http::field::keep_alive, fmt::format("timeout={:.0f}", *kept));
  std::ostringstream text;
  text << fields;
  return text.str();
}

}  // namespace tessera::serve
