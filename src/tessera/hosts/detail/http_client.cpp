#include "tessera/hosts/detail/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::hosts {
namespace {

template <auto release>
struct Release {
  template <typename T>
  void operator()(T* p) const {
    release(p);
  }
};
using Url = std::unique_ptr<CURLU, Release<curl_url_cleanup>>;
using Headers = std::unique_ptr<curl_slist, Release<curl_slist_free_all>>;

/// A part of an address; empty where there is none.
std::string part_of(const Url& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return {};
  const std::unique_ptr<char, Release<curl_free>> owner(text);
  return text;
}

Headers headers_of(const HostRequest& request, const std::string& authorization) {
  Headers headers;
  const auto add = [&](const std::string& line) {
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    if (!longer) throw std::bad_alloc();
    headers.release();
    headers.reset(longer);
  };
  add("Expect:");  // the body goes at once
  if (!authorization.empty()) add(authorization);
  if (!request.content_type.empty()) add("Content-Type: " + request.content_type);
  return headers;
}

/// The body of an answer as it comes in.
struct Incoming {
  size_t most_bytes;
  std::string body = {};
};

size_t receive(const char* bytes, size_t, size_t count, void* place) {
  auto& incoming = *static_cast<Incoming*>(place);
  if (count > incoming.most_bytes - incoming.body.size()) return 0;
  incoming.body.append(bytes, count);
  return count;
}

int gives_up(void* place, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& unwanted = *static_cast<const std::function<bool()>*>(place);
  return unwanted && unwanted() ? 1 : 0;
}

/// Why a request failed. message: libcurl's, if it has one.
std::string reason_of(CURLcode failure, CURL* connection, double seconds, size_t most_bytes,
                      const char* message) {
  if (failure == CURLE_OPERATION_TIMEDOUT)
    return fmt::format("did not answer within {:g} s", seconds);
  if (failure == CURLE_WRITE_ERROR || failure == CURLE_FILESIZE_EXCEEDED)
    return fmt::format("its answer has more bytes than the {} expected at most", most_bytes);
  if (failure == CURLE_OUT_OF_MEMORY)  // what libcurl also says of a header beyond its limit
    return "its answer has a header that is too long, or memory is short";
  long error = 0;
  curl_easy_getinfo(connection, CURLINFO_OS_ERRNO, &error);
  if (failure == CURLE_COULDNT_CONNECT && error != 0)
    return fmt::format("cannot connect: {}", std::strerror(static_cast<int>(error)));
  return message[0] != '\0' ? message : curl_easy_strerror(failure);
}

}  // namespace

std::string checked_address(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError("'{}' {}; expected http://HOST:PORT/v1/stores/NAME", text, why);
  };
  const Url url(curl_url());
  if (!url) throw std::bad_alloc();
  const CURLUcode failure = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0);
  if (failure != CURLUE_OK)
    refuse(fmt::format("is not an address of a store: {}", curl_url_strerror(failure)));
  const std::string scheme = part_of(url, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") refuse("is not an address of a store");
  for (const CURLUPart part :
       {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT})
    if (!part_of(url, part).empty()) refuse("has more than a host and a path");
  std::string address = part_of(url, CURLUPART_URL);
  while (address.ends_with('/')) address.pop_back();
  if (part_of(url, CURLUPART_PATH).find_first_not_of('/') == std::string::npos)
    refuse("names no store");
  return address;
}

HttpClient::HttpClient(std::string address, double seconds, const std::string& key,
                       std::function<bool()> unwanted)
    : address_(std::move(address)),
      authorization_(key.empty() ? "" : "Authorization: Bearer " + key),
      seconds_(seconds),
      unwanted_(std::move(unwanted)),
      connection_(nullptr, curl_easy_cleanup) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw HostError("cannot be asked: libcurl does not start");
  connection_.reset(curl_easy_init());
  if (!connection_) throw std::bad_alloc();
}

HostAnswer HttpClient::ask(const HostRequest& request) {
  const Headers headers = headers_of(request, authorization_);
  Incoming answer = {request.most_bytes};
  std::array<char, CURL_ERROR_SIZE> message = {};
  CURL* const connection = connection_.get();
  // The options refer to what is here: libcurl forgets them afterwards, and keeps the connection.
  const std::unique_ptr<CURL, Release<curl_easy_reset>> options(connection);
  const auto set = [&](CURLoption option, auto value) {
    if (curl_easy_setopt(connection, option, value) != CURLE_OK)
      throw HostError("cannot be asked: libcurl refuses an option");
  };
  set(CURLOPT_URL, (address_ + request.path).c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTPHEADER, headers.get());
  if (!request.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.data());
  }
  set(CURLOPT_TIMEOUT_MS, std::max(1L, std::lround(1000 * seconds_)));
  set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(request.most_bytes));
  set(CURLOPT_ERRORBUFFER, message.data());
  set(CURLOPT_WRITEFUNCTION, &receive);
  set(CURLOPT_WRITEDATA, &answer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &gives_up);
  set(CURLOPT_XFERINFODATA, &unwanted_);
  const CURLcode failure = curl_easy_perform(connection);
  if (failure == CURLE_ABORTED_BY_CALLBACK) throw Interrupted("asking a host was given up");
  if (failure != CURLE_OK)
    throw HostError(reason_of(failure, connection, seconds_, request.most_bytes, message.data()));
  long status = 0;
  curl_easy_getinfo(connection, CURLINFO_RESPONSE_CODE, &status);
  return {static_cast<int>(status), std::move(answer.body)};
}

}  // namespace tessera::hosts
