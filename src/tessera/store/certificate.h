#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/interrupt.h"
#include "tessera/store/memo_store.h"

namespace tessera::store {

/// A file of a store, and how much of some texts was found in it.
struct ScannedFile {
  std::string name;  ///< as utf8::printable_line() shows it
  int64_t bytes = 0;
  std::string digest;  ///< SHA-256
  int64_t found = 0;   ///< places with remains of the texts
};

/// Pieces of bytes of one length, found anywhere by a hash that rolls over the bytes (Karp & Rabin
/// 1987).
class PieceSet {
 public:
  explicit PieceSet(size_t length) : length_(length), filter_(kFilter) {}

  /// Adds the pieces that begin at multiples of their length.
  void add(std::string_view bytes);
  void remove(std::string_view piece) { pieces_.erase(std::string(piece)); }
  /// Calls take(piece) for each place where one of them stands.
  void find(std::string_view bytes, const std::function<void(std::string_view)>& take) const;

 private:
  static constexpr uint64_t kBase = 0x9E3779B97F4A7C15;  // odd: it has an inverse
  static constexpr int kFilterBits = 22;
  static constexpr size_t kFilter = size_t{1} << kFilterBits;

  template <typename Visit>
  void roll(std::string_view bytes, Visit&& visit) const;

  size_t length_;
  std::unordered_set<std::string> pieces_;
  std::vector<bool> filter_;  // by the first bits of the hash; the others are in no piece
};

/// Looks for remains of documents that were forgotten in every file of a store, byte by byte: for
/// all runs of 16 bytes of their text that begin at a multiple of 16, and all runs of eight tokens
/// that begin at a multiple of eight, as numbers of 16 and of 32 bits. So a rest of 31 bytes of
/// text or of 15 tokens is found wherever it stands. What remaining documents have too is theirs
/// and is left out; so is what a ledger without documents has: the SQL of its tables, and runs of
/// spaces and zeros. The runs are kept in memory: some ten to forty bytes for each byte of text.
class Remains {
 public:
  /// Adds a document, while the store holds it.
  void add(const MemoStore& store, const StoredDocument& document);
  /// Leaves out what the documents of the store have, which remain, and what it has without them.
  void leave_out(const MemoStore& store);
  /// The files of a store, in the order of their names. Throws SystemError; DataError where
  /// something else is among them, such as a folder, which scan() could not read.
  static std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder);
  /// Scans all files of the folder, in the order of their names, while no other process writes
  /// there: files would come and go, and be cut while they are read. This process must have none of
  /// them open. on_progress: bytes read. Throws as files_of(), and std::runtime_error where
  /// another process writes for longer than ten seconds.
  std::vector<ScannedFile> scan(const std::filesystem::path& folder,
                                const OnProgress& on_progress = {}) const;

 private:
  static constexpr size_t kText = 16, kTokens = 8;  // bytes, tokens
  std::array<PieceSet, 3> sets_ = {PieceSet(kText), PieceSet(2 * kTokens), PieceSet(4 * kTokens)};
};

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

constexpr std::array<std::string_view, 3> enum_names(CertificateCheck::Signature) {
  return {"none", "valid", "invalid"};
}

/// As 'tessera memo verify --certificate --json' prints it.
config::Json json_of(const CertificateCheck& check);

/// Holds a certificate against a store. public_key: whose signature it must have, a PEM file;
/// empty: anybody's. Throws DataError where the file is not a certificate.
CertificateCheck check_certificate(const MemoStore& store, const std::filesystem::path& certificate,
                                   const std::filesystem::path& public_key = {});

/// "2026-03-01T17:30:00Z" of seconds since 1970.
std::string utc_time(int64_t seconds);

}  // namespace tessera::store
