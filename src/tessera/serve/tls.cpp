#include "tessera/serve/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <new>

#include "tessera/base/error.h"

namespace tessera::serve {
namespace {

/// What OpenSSL says went wrong last.
std::string last_error() {
  std::array<char, 256> text = {};
  ::ERR_error_string_n(::ERR_get_error(), text.data(), text.size());
  ::ERR_clear_error();
  return text.data();
}

}  // namespace

TlsSession::~TlsSession() {
  ::SSL_free(session_);
}

void TlsSession::end() {
  ::SSL_shutdown(session_);
  ::ERR_clear_error();
}

ssize_t TlsSession::outcome(int result) {
  if (result > 0) return result;
  const int error = ::SSL_get_error(session_, result);
  ::ERR_clear_error();
  if (error == SSL_ERROR_ZERO_RETURN) return 0;
  errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
  return -1;
}

ssize_t TlsSession::receive(char* to, size_t size) {
  return outcome(::SSL_read(session_, to, static_cast<int>(size)));
}

ssize_t TlsSession::send(const char* from, size_t size) {
  return outcome(::SSL_write(session_, from, static_cast<int>(size)));
}

short TlsSession::wants() const {
  return SSL_want_read(session_) ? POLLIN : POLLOUT;
}

Tls::Tls(const std::string& certificate, const std::string& key)
    : context_(::SSL_CTX_new(::TLS_server_method())) {
  if (context_ == nullptr) throw std::bad_alloc();
  const auto refuse = [&](const std::string& file, const std::string& what) {
    const std::string reason = last_error();
    ::SSL_CTX_free(context_);
    throw DataError(file, "{} ({})", what, reason);
  };
  ::SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  ::SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                   SSL_MODE_RELEASE_BUFFERS);
  if (::SSL_CTX_use_certificate_chain_file(context_, certificate.c_str()) != 1)
    refuse(certificate, "is not a certificate in PEM");
  if (::SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM) != 1)
    refuse(key, "is not a private key in PEM, or not that of the certificate " + certificate);
}

Tls::~Tls() {
  ::SSL_CTX_free(context_);
}

std::unique_ptr<TlsSession> Tls::session(int socket) const {
  ssl_st* session = ::SSL_new(context_);
  if (session == nullptr) throw std::bad_alloc();
  ::SSL_set_fd(session, socket);
  ::SSL_set_accept_state(session);
  return std::unique_ptr<TlsSession>(new TlsSession(session));
}

}  // namespace tessera::serve
