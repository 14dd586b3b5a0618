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

/// What libcurl knows of a connection, and the answer that comes in.
class HttpClient::Transfer {
 public:
  Transfer(double seconds, std::function<bool()> unwanted)
      : handle_(curl_easy_init(), curl_easy_cleanup),
        seconds_(seconds),
        unwanted_(std::move(unwanted)) {
    if (!handle_) throw std::bad_alloc();
  }

  template <typename Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(handle_.get(), option, value) != CURLE_OK)
      throw HostError("cannot be asked: libcurl refuses an option");
  }

  /// Throws as HttpClient::ask().
  HostAnswer run(size_t most_bytes) {
    most_bytes_ = most_bytes;
    answer_ = {};
    message_[0] = '\0';
    set(CURLOPT_TIMEOUT_MS, std::max(1L, std::lround(1000 * seconds_)));
    set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(most_bytes));
    set(CURLOPT_ERRORBUFFER, message_.data());
    set(CURLOPT_WRITEFUNCTION, &Transfer::receive);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &Transfer::is_unwanted);
    set(CURLOPT_XFERINFODATA, this);
    const CURLcode failure = curl_easy_perform(handle_.get());
    if (failure == CURLE_ABORTED_BY_CALLBACK) throw Interrupted("asking a host was given up");
    if (failure != CURLE_OK) throw HostError(reason(failure));
    long status = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    answer_.status = static_cast<int>(status);
    return std::move(answer_);
  }

  /// Options and answers of the request before are forgotten, its connection is kept.
  void reset() { curl_easy_reset(handle_.get()); }

 private:
  static size_t receive(const char* bytes, size_t, size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (count > transfer.most_bytes_ - transfer.answer_.body.size()) return 0;
    transfer.answer_.body.append(bytes, count);
    return count;
  }

  static int is_unwanted(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto& transfer = *static_cast<Transfer*>(self);
    return transfer.unwanted_ && transfer.unwanted_() ? 1 : 0;
  }

  std::string reason(CURLcode failure) const {
    if (failure == CURLE_OPERATION_TIMEDOUT)
      return fmt::format("did not answer within {:g} s", seconds_);
    if (failure == CURLE_WRITE_ERROR || failure == CURLE_FILESIZE_EXCEEDED)
      return fmt::format("its answer has more bytes than the {} expected at most", most_bytes_);
    if (failure == CURLE_OUT_OF_MEMORY)  // what libcurl also says of a header beyond its limit
      return "its answer has a header that is too long, or memory is short";
    long error = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_OS_ERRNO, &error);
    if (failure == CURLE_COULDNT_CONNECT && error != 0)
      return fmt::format("cannot connect: {}", std::strerror(static_cast<int>(error)));
    return message_[0] != '\0' ? message_.data() : curl_easy_strerror(failure);
  }

  std::unique_ptr<CURL, void (*)(CURL*)> handle_;
  std::array<char, CURL_ERROR_SIZE> message_ = {};
  double seconds_;
  std::function<bool()> unwanted_;
  size_t most_bytes_ = 0;
  HostAnswer answer_;
};

HttpClient::HttpClient(std::string address, double seconds, const std::string& key,
                       std::function<bool()> unwanted)
    : address_(std::move(address)),
      authorization_(key.empty() ? "" : "Authorization: Bearer " + key) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw HostError("cannot be asked: libcurl does not start");
  transfer_ = std::make_unique<Transfer>(seconds, std::move(unwanted));
}

HttpClient::~HttpClient() = default;

HostAnswer HttpClient::ask(const HostRequest& request) {
  const Headers headers = headers_of(request, authorization_);
  transfer_->reset();
  transfer_->set(CURLOPT_URL, (address_ + request.path).c_str());
  transfer_->set(CURLOPT_PROTOCOLS_STR, "http,https");
  transfer_->set(CURLOPT_PROXY, "");
  transfer_->set(CURLOPT_NOSIGNAL, 1L);
  transfer_->set(CURLOPT_HTTPHEADER, headers.get());
  if (request.method != "GET") {
    transfer_->set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    transfer_->set(CURLOPT_POSTFIELDS, request.body.data());
    transfer_->set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  return transfer_->run(request.most_bytes);
}

}  // namespace tessera::hosts
