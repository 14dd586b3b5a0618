#include "tessera/store/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace tessera::store {
namespace {

constexpr size_t kBlockEntries = 8192;

void check(int done) {
  if (done != 1) throw std::runtime_error("SHA-256: libcrypto refused");
}

/// Entries in the machine's byte order -> 64-bit little-endian.
template <typename Entry>
void widen(std::span<const std::byte> entries, std::vector<uint8_t>& bytes) {
  bytes.clear();
  for (size_t at = 0; at < entries.size(); at += sizeof(Entry)) {
    Entry entry;
    std::memcpy(&entry, entries.data() + at, sizeof entry);
    const auto wide = static_cast<uint64_t>(int64_t{entry});
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(wide >> 8 * i));
  }
}

}  // namespace

void Sha256::Free::operator()(void* context) const {
  ::EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context));
}

Sha256::Sha256() : context_(::EVP_MD_CTX_new()) {
  check(context_
            ? ::EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_.get()), ::EVP_sha256(), nullptr)
            : 0);
}

void Sha256::add(std::span<const std::byte> bytes) {
  check(::EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_.get()), bytes.data(), bytes.size()));
}

void Sha256::add(std::string_view text) {
  add(std::as_bytes(std::span(text.data(), text.size())));
}

std::string Sha256::hex() {
  std::array<uint8_t, 32> hash;
  check(::EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_.get()), hash.data(), nullptr));
  std::string text;
  for (const uint8_t byte : hash) text += fmt::format("{:02x}", byte);
  return text;
}

std::string text_digest(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.hex();
}

std::string content_digest(std::string_view config, const memo::ExactCorrelationMemory& matrix) {
  Sha256 hash;
  hash.add(config);
  hash.add("\n");
  std::vector<uint8_t> wide;
  const size_t block = kBlockEntries * static_cast<size_t>(matrix.bits() / 8);
  for (auto rest = matrix.bytes(); !rest.empty();) {
    const auto part = rest.first(std::min(block, rest.size()));
    matrix.bits() == 32 ? widen<int32_t>(part, wide) : widen<int64_t>(part, wide);
    hash.add(std::as_bytes(std::span(wide)));
    rest = rest.subspan(part.size());
  }
  return hash.hex();
}

}  // namespace tessera::store
