#pragma once

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "program/serve/http.h"

// Between Boost.Beast's messages and ours.
namespace tessera::serve {

/// Reads a request of HTTP/1.
using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;
using RequestHead = RequestParser::value_type;

/// Limit of a request's first line and headers, in bytes.
constexpr uint32_t kHeadBytes = 1 << 15;

/// Limits the head and the body of what is read.
void set_limits(RequestParser& parser, int64_t body_bytes);

/// A request but for its body.
Request request_of(const RequestHead& head, const std::string& client);

/// The answer to a head that asks for what this server does not do, before its body is read: 415 to
/// a compressed body, 501 to a Transfer-Encoding other than chunked, 417 to an Expect other than
/// 100-continue, 400 to several Hosts and, of HTTP/1.1, to none.
std::optional<Response> refusal_of_head(const RequestHead& head);

/// The answer to a request that could not be read: 413, 431 or 400; none where the client broke
/// off. 408 and 503 where this side has closed the connection, because its time was over or for
/// another reason: they can only be counted.
std::optional<Response> answer_to(boost::beast::error_code error);

/// The first line and the headers of an answer to this request, with the empty line behind them.
/// kept: seconds for which the connection is kept for another request; none: it is closed. chunked:
/// the body comes in chunks.
std::string head_of(const Response& response, const RequestHead& head, std::optional<double> kept,
                    bool chunked);

}  // namespace tessera::serve
