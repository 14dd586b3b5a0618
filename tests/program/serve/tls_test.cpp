#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdio>

#include "tessera/base/error.h"
#include "tests/program/serve/running_server.h"
#include "tests/support/temporary_folder.h"

namespace tessera::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A new key, and a certificate for localhost that it has signed itself.
void write_certificate(const std::string& certificate, const std::string& key) {
  EVP_PKEY* pair = EVP_EC_gen("P-256");
  X509* x509 = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), 0);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
  X509_set_pubkey(x509, pair);
  X509_NAME* name = X509_get_subject_name(x509);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(x509, name);
  X509_sign(x509, pair, EVP_sha256());
  std::FILE* file = std::fopen(certificate.c_str(), "w");
  PEM_write_X509(file, x509);
  std::fclose(file);
  file = std::fopen(key.c_str(), "w");
  PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_free(x509);
  EVP_PKEY_free(pair);
}

/// A client that trusts one certificate only.
class TlsClient {
 public:
  TlsClient(int port, const std::string& trusted)
      : client_(port), context_(SSL_CTX_new(TLS_client_method())), session_(nullptr) {
    SSL_CTX_load_verify_locations(context_, trusted.c_str(), nullptr);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    session_ = SSL_new(context_);
    SSL_set1_host(session_, "localhost");
    SSL_set_fd(session_, client_.socket());
    connected = SSL_connect(session_) == 1;
  }
  ~TlsClient() {
    SSL_free(session_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  void send(const std::string& text) { SSL_write(session_, text.data(), std::ssize(text)); }
  std::string receive(const std::string& end) {
    std::string received;
    char buffer[4096];
    while (received.find(end) == std::string::npos) {
      const int count = SSL_read(session_, buffer, sizeof buffer);
      if (count <= 0) break;
      received.append(buffer, count);
    }
    return received;
  }

  bool connected = false;

 private:
  RawClient client_;
  SSL_CTX* context_;
  SSL* session_;
};

class TlsServer : public ::testing::Test {
 protected:
  TlsServer() { write_certificate(path("cert.pem"), path("key.pem")); }
  std::string path(const std::string& name) const { return (folder_ / name).native(); }
  ServerOptions options(const std::string& certificate = "cert.pem",
                        const std::string& key = "key.pem") const {
    return {.http = {.tls_certificate = path(certificate), .tls_key = path(key)}};
  }
  test::TemporaryFolder folder_;
};

TEST_F(TlsServer, AnswersAndStreamsOverOneConnection) {
  Running running(options());
  TlsClient client(running.port(), path("cert.pem"));
  ASSERT_TRUE(client.connected);
  for (int i = 0; i < 3; ++i) {
    client.send(
        asking("POST", "/v1/completions", R"({"prompt":"ab","max_tokens":2,"ignore_eos":true})"));
    EXPECT_THAT(client.receive("}}"), StartsWith("HTTP/1.1 200"));
  }
  client.send(asking("POST", "/v1/completions",
                     R"({"prompt":"ab","max_tokens":50,"stream":true,"ignore_eos":true})"));
  EXPECT_THAT(client.receive("[DONE]"), HasSubstr("[DONE]"));
  const std::string large(300000, 'x');  // in many records, either way
  client.send(asking("POST", "/tokenize", R"({"prompt":")" + large + "\"}"));
  EXPECT_GT(client.receive("max_model_len").size(), 2 * large.size());
}

TEST_F(TlsServer, ClientsThatDoNotSpeakItHoldUpNobody) {
  Running running(options());
  RawClient plain(running.port(), asking("GET", "/health"));
  EXPECT_THAT(plain.rest(), Not(HasSubstr("200")));
  const RawClient silent(running.port());
  write_certificate(path("other.pem"), path("other-key.pem"));
  const TlsClient distrusting(running.port(), path("other.pem"));
  EXPECT_FALSE(distrusting.connected);
  TlsClient client(running.port(), path("cert.pem"));
  ASSERT_TRUE(client.connected);
  client.send(asking("GET", "/health"));
  EXPECT_THAT(client.receive("}"), StartsWith("HTTP/1.1 200"));
}

TEST_F(TlsServer, HandshakesThatStopAreDropped) {
  ServerOptions stopping = options();
  stopping.http.read_seconds = 0.3;
  Running running(stopping);
  const std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (const size_t size : {size_t{0}, size_t{1}, hello.size()}) {
    RawClient client(running.port(), hello.substr(0, size));
    EXPECT_EQ(client.rest(), "") << size;
  }
}

TEST_F(TlsServer, FilesThatDoNotServeAreRefused) {
  write_certificate(path("other.pem"), path("other-key.pem"));
  const auto serve = [&](const std::string& certificate, const std::string& key) {
    const Running running(options(certificate, key));
  };
  EXPECT_NO_THROW(serve("cert.pem", "key.pem"));
  EXPECT_THROW(serve("cert.pem", "other-key.pem"), DataError);
  EXPECT_THROW(serve("none.pem", "key.pem"), DataError);
  EXPECT_THROW(serve("key.pem", "cert.pem"), DataError);
  ServerOptions half = options();
  half.http.tls_key.clear();
  EXPECT_THROW(half.check(), UsageError);
}

}  // namespace
}  // namespace tessera::serve
