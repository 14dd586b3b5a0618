#pragma once

#include <memory>
#include <string>

struct ssl_ctx_st;
struct ssl_st;

namespace tessera::serve {

/// One connection's encryption, on a socket that does not block. For one thread at a time.
class TlsSession {
 public:
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// As ::recv and ::send: bytes, 0 at the end, or -1 with errno, EAGAIN where nothing can be done
  /// now. The first ones shake hands.
  ssize_t receive(char* to, size_t size);
  ssize_t send(const char* from, size_t size);
  /// Tells the client that nothing more comes.
  void end();
  /// What send() waits for after EAGAIN: POLLIN or POLLOUT.
  short wants() const;

 private:
  friend class Tls;
  explicit TlsSession(ssl_st* session) : session_(session) {}
  ssize_t outcome(int result);

  ssl_st* session_;
};

/// A server's certificate (OpenSSL; TLS 1.2 and later).
class Tls {
 public:
  /// Both in PEM files; the certificate with those between it and the authority. Throws DataError
  /// where OpenSSL cannot take one of them, or where they do not belong together.
  Tls(const std::string& certificate, const std::string& key);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  /// The server's side of a connection that was accepted. Throws std::bad_alloc.
  std::unique_ptr<TlsSession> session(int socket) const;

 private:
  ssl_ctx_st* context_;
};

}  // namespace tessera::serve
