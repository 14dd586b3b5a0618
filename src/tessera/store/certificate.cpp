#include "tessera/store/certificate.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"
#include "tessera/store/digest.h"
#include "tessera/store/store_json.h"
#include "tessera/store/text_search.h"

namespace tessera::store {

namespace {

/// A document in the codings that a store may have it in: its text as it was memorized, and its
/// tokens as numbers of 16 and of 32 bits, the lowest byte first.
std::array<std::string, 3> codings_of(const MemoStore& store, const StoredDocument& document) {
  std::array<std::string, 3> codings;
  codings[0] = memorized_text(store.ledger(), store.tokenizer(), document);
  read_text(store.ledger(), store.tokenizer(), document, [&](int32_t token, std::string_view) {
    for (int byte = 0; byte < 4; ++byte) {
      const char value = static_cast<char>(static_cast<uint32_t>(token) >> 8 * byte);
      if (byte < 2) codings[1] += value;
      codings[2] += value;
    }
  });
  return codings;
}

}  // namespace

/// visit(hash, piece) for every piece of this length.
template <typename Visit>
void PieceSet::roll(std::string_view bytes, Visit&& visit) const {
  uint64_t hash = 0, leaving = 1;  // kBase^length: the share of the byte that leaves
  for (size_t i = 0; i < length_; ++i) leaving *= kBase;
  for (size_t end = 1; end <= bytes.size(); ++end) {
    hash = hash * kBase + static_cast<uint8_t>(bytes[end - 1]) + 1;
    if (end > length_)
      hash -= leaving * (static_cast<uint64_t>(static_cast<uint8_t>(bytes[end - 1 - length_])) + 1);
    if (end >= length_) visit(hash, bytes.substr(end - length_, length_));
  }
}

void PieceSet::add(std::string_view bytes) {
  for (; bytes.size() >= length_; bytes.remove_prefix(length_)) {
    const std::string_view piece = bytes.substr(0, length_);
    roll(piece,
         [&](uint64_t hash, std::string_view) { filter_[hash >> (64 - kFilterBits)] = true; });
    pieces_.emplace(piece);
  }
}

void PieceSet::find(std::string_view bytes,
                    const std::function<void(std::string_view)>& take) const {
  roll(bytes, [&](uint64_t hash, std::string_view piece) {
    if (filter_[hash >> (64 - kFilterBits)] && pieces_.contains(std::string(piece))) take(piece);
  });
}

void Remains::add(const MemoStore& store, const StoredDocument& document) {
  const auto codings = codings_of(store, document);
  for (size_t i = 0; i < codings.size(); ++i) sets_[i].add(codings[i]);
}

void Remains::leave_out(const MemoStore& store) {
  const auto leave_out = [](PieceSet& set, std::string_view bytes) {
    set.find(bytes, [&](std::string_view piece) { set.remove(piece); });
  };
  for (const StoredDocument& document : store.ledger().documents()) {
    const auto codings = codings_of(store, document);
    for (size_t i = 0; i < codings.size(); ++i) leave_out(sets_[i], codings[i]);
  }
  for (const std::string& bytes :
       {store.ledger().schema(), std::string(100, ' '), std::string(100, '\0')})
    for (PieceSet& set : sets_) leave_out(set, bytes);
}

std::vector<std::filesystem::path> Remains::files_of(const std::filesystem::path& folder) {
  std::error_code failure;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (!entry.is_regular_file(failure))
      throw DataError(entry.path().native(),
                      "is not a file, so it cannot be searched for remains of documents; a store "
                      "holds files alone: put it elsewhere");
    files.push_back(entry.path());
  }
  if (failure) throw SystemError(folder.native(), "read", failure.value());
  std::ranges::sort(files);
  return files;
}

namespace {

/// Waits for a while where another process writes.
FileLock lock_in_time(const std::filesystem::path& folder) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::seconds(10);;) try {
      return StoreFolder::lock(folder);
    } catch (const SystemError&) {
      throw;
    } catch (const std::runtime_error&) {
      if (Clock::now() > end) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

}  // namespace

std::vector<ScannedFile> Remains::scan(const std::filesystem::path& folder,
                                       const OnProgress& on_progress) const {
  const FileLock lock = lock_in_time(folder);
  const std::vector<std::filesystem::path> paths = files_of(folder);
  int64_t all = 0, done = 0;
  for (const auto& path : paths) all += file_bytes(path);
  std::vector<ScannedFile> files;
  for (const auto& path : paths) {
    const MappedFile file(path);
    const std::string_view bytes = file.text();
    ScannedFile& scanned = files.emplace_back(utf8::printable_line(path.filename().native()),
                                              std::ssize(bytes), text_digest(bytes));
    for (const PieceSet& set : sets_) set.find(bytes, [&](std::string_view) { ++scanned.found; });
    done += scanned.bytes;
    if (on_progress) on_progress(done, all);
  }
  return files;
}

namespace {

using config::Json;

constexpr const char* kFormat = "tessera-erasure-1";
constexpr const char* kAlgorithm = "Ed25519";

struct FreeKey {
  void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { ::EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;
using Bytes = std::vector<uint8_t>;

void check(bool done, const char* what) {
  if (!done) throw std::runtime_error(fmt::format("libcrypto could not {}", what));
}

/// The key of a PEM file, as `read` reads it.
template <typename Read>
Key key_of(const std::filesystem::path& path, const char* kind, const char* command, Read&& read) {
  const std::string text = read_file(path, 1 << 16);
  const std::unique_ptr<BIO, decltype(&::BIO_free)> memory(
      ::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), ::BIO_free);
  Key key(read(memory.get(), nullptr, nullptr, nullptr));
  if (!key || ::EVP_PKEY_id(key.get()) != EVP_PKEY_ED25519)
    throw DataError(path.native(), "holds no {} Ed25519 key in PEM; '{}' makes one", kind, command);
  return key;
}

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16)));
  return bytes;
}

std::string public_part(EVP_PKEY* key) {
  std::array<uint8_t, 32> bytes;
  size_t size = bytes.size();
  check(::EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) == 1, "read a public key");
  return hex(std::span(bytes).first(size));
}

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

bool is_signed(const Json& json, const std::string& public_key, const std::string& signature) {
  const Bytes raw = from_hex(public_key), value = from_hex(signature);
  if (hex(raw) != public_key) return false;  // what is shown of it is what was checked
  const Key key(::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw.data(), raw.size()));
  const Context context(::EVP_MD_CTX_new());
  const std::string text = json.dump();
  const auto message = bytes_of(text);
  return key && context &&
         ::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         ::EVP_DigestVerify(context.get(), value.data(), value.size(), message.data(),
                            message.size()) == 1;
}

}  // namespace

std::string utc_time(int64_t seconds) {
  std::tm parts{};
  const std::time_t time = seconds;
  ::gmtime_r(&time, &parts);
  const int64_t year = int64_t{1900} + parts.tm_year;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", year, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

ErasedDocument erased_document(const MemoStore& store, const StoredDocument& document) {
  const DocumentDetails details = known_details(store.ledger(), store.tokenizer(), document);
  return {document.id, details.digest, details.bytes, document.tokens};
}

bool Certificate::proves() const {
  return digest_after == digest_without &&
         std::ranges::all_of(files, [](const ScannedFile& file) { return file.found == 0; });
}

Json json_of(const Certificate& certificate) {
  Json erased = Json::array(), files = Json::array();
  for (const ErasedDocument& document : certificate.erased)
    erased.push_back({{"id", document.id},
                      {"sha256", document.digest},
                      {"bytes", document.bytes},
                      {"tokens", document.tokens}});
  for (const ScannedFile& file : certificate.files)
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {"sha256", file.digest},
                     {"remains_found", file.found}});
  return {
      {"format", kFormat},
      {"program", certificate.program},
      {"time", utc_time(certificate.time)},
      {"erased", std::move(erased)},
      {"digest_before", certificate.digest_before},
      {"digest_after", certificate.digest_after},
      {"digest_of_remaining_documents", certificate.digest_without},
      {"remaining", json_of(certificate.remaining)},
      {"looked_for",
       "each run of 16 bytes of the erased texts (UTF-8) and each run of 8 of their tokens (as "
       "numbers of 16 and of 32 bits) that begins at a multiple of this length, but for those that "
       "a remaining document or the SQL of the ledger's tables has, and for spaces and zeros"},
      {"files", std::move(files)},
      {"proves_erasure", certificate.proves()}};
}

void sign(Json& json, const std::filesystem::path& private_key) {
  const Key key = key_of(private_key, "private", "openssl genpkey -algorithm ed25519 -out FILE",
                         ::PEM_read_bio_PrivateKey);
  const Context context(::EVP_MD_CTX_new());
  const std::string text = json.dump();
  const auto message = bytes_of(text);
  std::array<uint8_t, 64> signature;
  size_t size = signature.size();
  check(context && ::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
            ::EVP_DigestSign(context.get(), signature.data(), &size, message.data(),
                             message.size()) == 1,
        "sign the certificate");
  json["signature"] = {
      {"algorithm", kAlgorithm}, {"public_key", public_part(key.get())}, {"value", hex(signature)}};
}

bool CertificateCheck::holds() const {
  return signature != Signature::kInvalid && held.empty() && proves;
}

Json json_of(const CertificateCheck& check) {
  return {{"holds", check.holds()},
          {"signature", config::enum_name(check.signature)},
          {"public_key", check.public_key},
          {"time", check.time},
          {"proves_erasure", check.proves},
          {"same_state", check.same_state},
          {"held", check.held}};
}

CertificateCheck check_certificate(const MemoStore& store, const std::filesystem::path& certificate,
                                   const std::filesystem::path& public_key) {
  Json json = config::read_json(certificate);
  CertificateCheck result;
  try {
    result.time = json.at("time");
    if (json.at("format") != kFormat || !utf8::is_printable(result.time))
      throw DataError(certificate.native(), "is not a certificate");
    result.proves = json.at("proves_erasure");
    result.same_state = store.digest() == json.at("digest_after").get<std::string>();
    std::set<std::string> erased;
    for (const Json& document : json.at("erased")) erased.insert(document.at("sha256"));
    for (const StoredDocument& document : store.ledger().documents())
      if (erased.contains(known_details(store.ledger(), store.tokenizer(), document).digest))
        result.held.push_back(document.id);
    if (json.contains("signature")) {
      const Json signature = json["signature"];
      json.erase("signature");
      result.public_key = signature.at("public_key");
      result.signature = is_signed(json, result.public_key, signature.at("value"))
                             ? CertificateCheck::Signature::kValid
                             : CertificateCheck::Signature::kInvalid;
    }
  } catch (const Json::exception&) {
    throw DataError(certificate.native(),
                    "is not a certificate that 'tessera memo forget --certificate' wrote");
  }
  if (public_key.empty()) return result;
  const Key signer =
      key_of(public_key, "public", "openssl pkey -in KEY -pubout -out FILE", ::PEM_read_bio_PUBKEY);
  if (result.public_key != public_part(signer.get()))
    result.signature = CertificateCheck::Signature::kInvalid;
  return result;
}

}  // namespace tessera::store
