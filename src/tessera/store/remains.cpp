#include "tessera/store/remains.h"

#include <algorithm>

#include "tessera/base/file.h"
#include "tessera/store/digest.h"
#include "tessera/store/document_text.h"

namespace tessera::store {
namespace {

/// A document in the codings that a store may have it in: its text, and its tokens as numbers of 16
/// and of 32 bits, the lowest byte first.
std::array<std::string, 3> codings_of(const MemoStore& store, const StoredDocument& document) {
  std::array<std::string, 3> codings;
  read_text(store, document, [&](int32_t token, std::string_view bytes) {
    codings[0] += bytes;
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
  for (const StoredDocument& document : store.ledger().documents()) {
    const auto codings = codings_of(store, document);
    for (size_t i = 0; i < codings.size(); ++i)
      sets_[i].find(codings[i], [&](std::string_view piece) { sets_[i].remove(piece); });
  }
}

std::vector<ScannedFile> Remains::scan(
    const std::filesystem::path& folder,
    const std::function<void(int64_t done, int64_t of)>& on_progress) const {
  std::vector<std::filesystem::path> paths;
  int64_t all = 0, done = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path());
    all += static_cast<int64_t>(entry.file_size());
  }
  std::ranges::sort(paths);
  std::vector<ScannedFile> files;
  for (const auto& path : paths) {
    const MappedFile file(path);
    const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()),
                                 file.bytes().size());
    ScannedFile& scanned =
        files.emplace_back(path.filename().native(), std::ssize(bytes), text_digest(bytes));
    for (const PieceSet& set : sets_) set.find(bytes, [&](std::string_view) { ++scanned.found; });
    on_progress(done += scanned.bytes, all);
  }
  return files;
}

}  // namespace tessera::store
