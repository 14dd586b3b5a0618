#include "tessera/data/token_stream.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/base/safetensors.h"

namespace tessera {
namespace {

using safetensors::DType;

constexpr const char* kTensor = "tokens";
constexpr size_t kHeaderBytes = 512;  // room for the header, which is written last
constexpr int64_t kLargestShortVocabulary = 65536;
constexpr int64_t kReadTokens = 4096;

DType dtype_for(int64_t vocabulary_size) {
  return vocabulary_size <= kLargestShortVocabulary ? DType::kU16 : DType::kI32;
}

template <typename Integer>
Integer parse_number(const safetensors::File& file, const char* key, int base = 10) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    throw DataError(file.path(), "has no '{}' in its metadata; it is not a token stream", key);
  const std::string& text = found->second;
  Integer number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size() || number < Integer{0})
    throw DataError(file.path(), "its {} is '{}', expected a number from 0", key, text);
  return number;
}

TokenStreamInfo parse_info(const safetensors::File& file) {
  return {parse_number<uint64_t>(file, "tokenizer", 16), parse_number<int64_t>(file, "vocabulary"),
          parse_number<int64_t>(file, "documents"), parse_number<int64_t>(file, "text_bytes")};
}

/// The complete header, padded with spaces to kHeaderBytes.
std::string file_header(const TokenStreamInfo& info, int64_t tokens) {
  const safetensors::NamedTensor tensor{kTensor, {dtype_for(info.vocabulary_size), {tokens}, {}}};
  std::string header =
      safetensors::header({tensor}, {{"tokenizer", fmt::format("{:016x}", info.tokenizer_digest)},
                                     {"vocabulary", std::to_string(info.vocabulary_size)},
                                     {"documents", std::to_string(info.documents)},
                                     {"text_bytes", std::to_string(info.text_bytes)}});
  header.resize(kHeaderBytes, ' ');
  const uint64_t length = kHeaderBytes - sizeof(uint64_t);
  std::memcpy(header.data(), &length, sizeof length);
  return header;
}

template <typename Id>
void copy_ids(const std::byte* source, std::span<int64_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    Id id;
    std::memcpy(&id, source + i * sizeof id, sizeof id);
    ids[i] = id;
  }
}

// Keeps these draws apart from others that are made with the same seed.
constexpr uint64_t kPurpose = 0x77696E646F777321;

}  // namespace

struct TokenStream::Storage {
  safetensors::File file;
  TokenStreamInfo info = parse_info(file);
  DType dtype = dtype_for(info.vocabulary_size);
  std::span<const std::byte> bytes = file.at(kTensor).bytes;
};

TokenStream TokenStream::open(const std::filesystem::path& path) {
  const std::shared_ptr<const Storage> storage(new Storage{safetensors::File::open(path)});
  const auto& tensor = storage->file.at(kTensor);
  if (tensor.shape.size() != 1 || tensor.dtype != storage->dtype)
    throw DataError(path.native(), "its tokens are {} of rank {}, expected {} of rank 1",
                    safetensors::dtype_name(tensor.dtype), tensor.shape.size(),
                    safetensors::dtype_name(storage->dtype));
  return TokenStream(storage, 0, tensor.shape[0]);
}

void TokenStream::read(int64_t begin, std::span<int64_t> ids) const {
  const auto count = std::ssize(ids);
  check_argument(begin >= 0 && count <= size() - begin,
                 "TokenStream::read: tokens {} to {} of a stream of {}", begin, begin + count,
                 size());
  const size_t width = safetensors::dtype_bytes(storage_->dtype);
  const std::byte* source = storage_->bytes.data() + (begin_ + begin) * width;
  storage_->dtype == DType::kU16 ? copy_ids<uint16_t>(source, ids) : copy_ids<int32_t>(source, ids);

  const int64_t vocabulary = vocabulary_size();
  const auto bad =
      std::find_if(ids.begin(), ids.end(), [&](int64_t id) { return id < 0 || id >= vocabulary; });
  if (bad != ids.end())
    throw DataError(storage_->file.path(),
                    "token {} is {}, outside the vocabulary of {}; encode the text again",
                    begin_ + begin + (bad - ids.begin()), *bad, vocabulary);
}

TokenStream TokenStream::slice(int64_t begin, int64_t end) const {
  check_argument(0 <= begin && begin <= end && end <= size(),
                 "TokenStream::slice: tokens {} to {} of a stream of {}", begin, end, size());
  return TokenStream(storage_, begin_ + begin, begin_ + end);
}

std::pair<TokenStream, TokenStream> TokenStream::split_tail(double fraction) const {
  check_argument(fraction > 0 && fraction < 1,
                 "TokenStream::split_tail: a fraction of {}, expected one between 0 and 1",
                 fraction);
  const auto boundary =
      static_cast<int64_t>(std::floor(static_cast<double>(size()) * (1 - fraction)));
  return {slice(0, boundary), slice(boundary, size())};
}

const TokenStreamInfo& TokenStream::info() const {
  return storage_->info;
}

int64_t TokenStream::text_bytes(const Tokenizer& tokenizer) const {
  if (tokenizer.digest() != info().tokenizer_digest)
    throw DataError(storage_->file.path(),
                    "was written by another tokenizer ({:016x}, this one is {:016x}); encode the "
                    "text again",
                    info().tokenizer_digest, tokenizer.digest());
  int64_t bytes = 0;
  std::array<int64_t, kReadTokens> ids;
  for (int64_t begin = 0; begin < size(); begin += kReadTokens) {
    const std::span part(ids.data(), std::min(kReadTokens, size() - begin));
    read(begin, part);
    for (int64_t id : part)
      if (id != tokenizer.end_of_text())
        bytes += tokenizer.token_bytes(static_cast<int32_t>(id)).size();
  }
  return bytes;
}

TokenStreamWriter::TokenStreamWriter(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                     OnPiece on_piece)
    : file_(path), encoder_(tokenizer), on_piece_(std::move(on_piece)) {
  info_.tokenizer_digest = tokenizer.digest();
  info_.vocabulary_size = tokenizer.vocabulary_size();
  file_.write(std::string(kHeaderBytes, ' '));
}

void TokenStreamWriter::write(std::span<const int32_t> ids) {
  tokens_ += std::ssize(ids);
  if (dtype_for(info_.vocabulary_size) == DType::kI32) {
    file_.write(std::as_bytes(ids));
  } else {
    const std::vector<uint16_t> narrow(ids.begin(), ids.end());
    file_.write(std::as_bytes(std::span(narrow)));
  }
  if (on_piece_) on_piece_(tokens_);
}

void TokenStreamWriter::add_document(std::string_view text) {
  const auto pieces = encoder_.pieces(text);
  for (auto ids = pieces(); !ids.empty(); ids = pieces()) write(ids);
  if (const auto end = encoder_.tokenizer().end_of_text()) write(std::span(&*end, 1));
  info_.text_bytes += std::ssize(text);
  ++info_.documents;
}

void TokenStreamWriter::finish() {
  if (tokens_ == 0) throw DataError("text", "is empty: there is no token to write");
  file_.overwrite(0, file_header(info_, tokens_));
  file_.commit();
}

WindowSampler::WindowSampler(TokenStream stream, int64_t rows, int64_t length, uint64_t seed)
    : stream_(std::move(stream)), rows_(rows), length_(length), seed_(seed) {
  check_argument(rows >= 1 && length >= 1,
                 "WindowSampler: {} rows of {} tokens, expected at least one of each", rows,
                 length);
  if (stream_.size() <= length)
    throw DataError("text",
                    "has {} tokens, but a window of {} and its targets need {}; give more text or "
                    "choose a shorter context",
                    stream_.size(), length, length + 1);
}

TokenBatch WindowSampler::batch(int64_t step) const {
  check_argument(step >= 0, "WindowSampler::batch: step {}, expected 0 or more", step);
  const Philox philox(seed_ ^ kPurpose, step);
  std::vector<int64_t> begins(rows_);
  for (size_t row = 0; row < begins.size(); ++row) {
    const auto words = philox.block(row);
    const uint64_t draw = static_cast<uint64_t>(words[0]) << 32 | words[1];
    // The high half of the product is uniform up to starts / 2^64.
    begins[row] = static_cast<int64_t>(static_cast<unsigned __int128>(draw) * starts() >> 64);
  }
  return read(begins);
}

TokenBatch WindowSampler::evaluation_windows(int64_t count) const {
  check_argument(count >= 1, "WindowSampler::evaluation_windows: {} windows, expected 1 or more",
                 count);
  const int64_t windows = std::min(count, starts());
  std::vector<int64_t> begins(windows, 0);
  for (int64_t i = 1; i < windows; ++i)
    begins[i] = static_cast<int64_t>(static_cast<__int128>(i) * (starts() - 1) / (windows - 1));
  return read(begins);
}

TokenBatch WindowSampler::read(const std::vector<int64_t>& begins) const {
  TokenBatch batch{std::ssize(begins), length_, {}, {}};
  std::vector<int64_t> window(length_ + 1);
  for (int64_t begin : begins) {
    stream_.read(begin, window);
    batch.inputs.insert(batch.inputs.end(), window.begin(), window.end() - 1);
    batch.targets.insert(batch.targets.end(), window.begin() + 1, window.end());
  }
  return batch;
}

}  // namespace tessera
