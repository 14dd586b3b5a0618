#include "tessera/store/digest.h"

#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace tessera::store {
namespace {

constexpr int64_t kBlockEntries = 8192;

void check(int done) {
  if (done != 1) throw std::runtime_error("SHA-256: libcrypto refused");
}

static_assert(std::endian::native == std::endian::little, "a digest is of little-endian numbers");

template <typename Entry>
void widen(std::span<const std::byte> entries, std::vector<int64_t>& wide) {
  wide.resize(entries.size() / sizeof(Entry));
  for (size_t i = 0; i < wide.size(); ++i) {
    Entry entry;
    std::memcpy(&entry, entries.data() + i * sizeof entry, sizeof entry);
    wide[i] = entry;
  }
}

/// SHA-256 of bytes given piece by piece.
class Sha256 {
 public:
  Sha256() : context_(::EVP_MD_CTX_new(), ::EVP_MD_CTX_free) {
    check(context_ ? ::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr) : 0);
  }
  void add(std::span<const std::byte> bytes) {
    check(::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  /// Of all that was added, 64 hexadecimal digits. Nothing may be added after it.
  std::string hex() {
    std::array<uint8_t, 32> hash;
    check(::EVP_DigestFinal_ex(context_.get(), hash.data(), nullptr));
    return store::hex(hash);
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string hex(std::span<const uint8_t> bytes) {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
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
  std::vector<int64_t> wide;
  const int64_t block = std::max<int64_t>(1, kBlockEntries / matrix.columns());
  for (int64_t row = 0; row < matrix.rows(); row += block) {
    const auto part = matrix.bytes(row, std::min(block, matrix.rows() - row));
    matrix.bits() == 32 ? widen<int32_t>(part, wide) : widen<int64_t>(part, wide);
    hash.add(std::as_bytes(std::span(wide)));
  }
  return hash.hex();
}

std::string digest_of_shards(std::span<const std::string> digests) {
  if (digests.size() == 1) return digests[0];
  Sha256 hash;
  for (const std::string& digest : digests) hash.add(digest + '\n');
  return hash.hex();
}

std::string content_digest(std::string_view config, const memo::TextMemory& memory) {
  std::vector<std::string> digests;
  for (const memo::MemoryShard& shard : memory.shards())
    digests.push_back(content_digest(config, shard.matrix()));
  return digest_of_shards(digests);
}

}  // namespace tessera::store
