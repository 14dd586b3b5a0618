#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/remains.h"

namespace tessera::store {

/// A document that was erased: enough to recognise its text, and none of it.
struct ErasedDocument {
  std::string id, digest;  ///< digest: SHA-256 of its text
  int64_t bytes = 0, tokens = 0;
};

/// A document as it stands in a certificate, while the store holds it.
ErasedDocument erased_document(const MemoStore& store, const StoredDocument& document);

/// What shows that documents were erased from a store.
struct Certificate {
  std::string program;  ///< version_line()
  int64_t time = 0;     ///< seconds since 1970, UTC
  std::vector<ErasedDocument> erased;
  std::string digest_before, digest_after;  ///< of the store's memory
  /// Of a memory that was built from the remaining documents alone: what the store's would be if it
  /// had never held the erased ones.
  std::string digest_without;
  LedgerTotals remaining;
  std::vector<ScannedFile> files;  ///< of the store, in all of which Remains were looked for

  /// Whether digest_after is digest_without and no file has remains.
  bool proves() const;
};

config::Json json_of(const Certificate& certificate);

/// Adds "signature" to a JSON object: of its text without it, by an Ed25519 key (RFC 8032) in a PEM
/// file, such as 'openssl genpkey -algorithm ed25519' writes, and the public key. Throws DataError
/// where the file holds no such key.
void sign(config::Json& json, const std::filesystem::path& private_key);

/// What a certificate says of a store.
struct CertificateCheck {
  enum class Signature { kNone, kValid, kInvalid };
  Signature signature = Signature::kNone;
  std::string public_key;         ///< of the signature, 64 hexadecimal digits
  std::string time;               ///< of the erasure
  std::vector<std::string> held;  ///< ids of documents here whose text was erased there
  bool same_state = false;        ///< the store's digest is the one after the erasure
  bool proves = false;            ///< as the certificate says: Certificate::proves()

  /// Signed by nobody or validly, nothing of it is held, and it proves the erasure.
  bool holds() const;
};

/// Holds a certificate against a store. public_key: whose signature it must have, a PEM file;
/// empty: anybody's. Throws DataError where the file is no certificate.
CertificateCheck check_certificate(const MemoStore& store, const std::filesystem::path& certificate,
                                   const std::filesystem::path& public_key = {});

/// "2026-03-01T17:30:00Z" of seconds since 1970.
std::string utc_time(int64_t seconds);

}  // namespace tessera::store
