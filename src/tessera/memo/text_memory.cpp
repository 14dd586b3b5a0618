#include "tessera/memo/text_memory.h"

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/machine.h"
#include "tessera/memo/detail/window_hash.h"
#include "tessera/memo/window_code.h"

namespace tessera::memo {
namespace {

// Tokens that are written at once: at least as many as a window has, or most of a batch would be
// the text before it.
constexpr int64_t kSmallestBatch = 1024, kLargestBatch = 8192;
constexpr int32_t kMostBatches = 256;  // of this size at once, for as many shards

/// A document in batches of `size` tokens, however its pieces are cut; the last may be shorter.
class Batches {
 public:
  Batches(const TokenPieces& document, int64_t size, int64_t vocabulary)
      : document_(document), size_(size), vocabulary_(vocabulary) {}

  /// Empty at the end. Valid until the next call.
  std::span<const int32_t> next() {
    batch_.clear();
    while (!ended_ && batch_.size() < size_) {
      if (piece_.empty()) piece_ = document_();
      ended_ = piece_.empty();
      const auto taken = piece_.first(std::min(size_ - batch_.size(), piece_.size()));
      for (const int32_t token : taken)
        check_argument(token >= 0 && token < vocabulary_,
                       "text memory: token {}, expected 0 to {} (vocabulary {})", token,
                       vocabulary_ - 1, vocabulary_);
      batch_.insert(batch_.end(), taken.begin(), taken.end());
      piece_ = piece_.subspan(taken.size());
    }
    return batch_;
  }

 private:
  const TokenPieces& document_;
  size_t size_;
  int64_t vocabulary_;
  std::span<const int32_t> piece_;
  std::vector<int32_t> batch_;
  bool ended_ = false;
};

/// Reads the windows `rows` of `queries`, whose shard this is.
void retrieve_from(const MemoryShard& shard, const WindowQueries& queries,
                   std::span<const size_t> rows, std::span<float> retrieved) {
  const size_t d = shard.matrix().rows();
  std::vector<int8_t> keys(rows.size() * d);
  std::vector<float> values(rows.size() * d);
  for (size_t n = 0; n < rows.size(); ++n) std::copy_n(&queries.keys[rows[n] * d], d, &keys[n * d]);
  shard.matrix().retrieve(keys, values);
  for (size_t n = 0; n < rows.size(); ++n) std::copy_n(&values[n * d], d, &retrieved[rows[n] * d]);
}

Edit opposite(Edit edit) {
  return edit == Edit::kStore ? Edit::kForget : Edit::kStore;
}

std::vector<MemoryShard> empty_shards(const TextMemoryConfig& config) {
  check_config(config);
  std::vector<MemoryShard> shards;
  for (int32_t s = 0; s < config.shards; ++s) shards.emplace_back(config.dimension);
  return shards;
}

}  // namespace

TextMemory::TextMemory(const TextMemoryConfig& config) : TextMemory(config, empty_shards(config)) {}

TextMemory::TextMemory(const TextMemoryConfig& config, std::vector<MemoryShard> shards)
    : code_(WindowCode::make(config)), shards_(std::move(shards)) {
  check_argument(std::ssize(shards_) == config.shards,
                 "text memory: {} matrices were given, the configuration says {}", shards_.size(),
                 config.shards);
}

int64_t TextMemory::edit(Edit edit, const TokenPieces& document, const ShardChoice& chosen) {
  std::vector<int32_t> done;
  try {
    return write(edit, document, chosen, done);
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    // A later piece failed. What the first ones changed is undone, exactly.
    std::vector<int32_t> undone;
    write(opposite(edit), one_piece(done), chosen, undone);
    throw;
  }
}

/// done: the tokens whose pairs are written.
int64_t TextMemory::write(Edit edit, const TokenPieces& document, const ShardChoice& chosen,
                          std::vector<int32_t>& done) {
  // Each shard gets about as many pairs of a batch as a single matrix would.
  const int64_t size = std::clamp(window_lengths().back(), kSmallestBatch, kLargestBatch) *
                       std::min(config().shards, kMostBatches);
  Batches batches(document, size, config().vocabulary);
  WindowPairs windows(memo::window_lengths(config()));
  int64_t written = 0;
  for (auto batch = batches.next(); !batch.empty(); batch = batches.next()) {
    const auto pairs = windows.append(batch);
    written += write_batch(edit, windows.text(), pairs, chosen);
    done.insert(done.end(), batch.begin(), batch.end());
  }
  return written;
}

int64_t TextMemory::write_batch(Edit edit, std::span<const int32_t> text,
                                std::span<const WindowPair> pairs, const ShardChoice& chosen) {
  const auto lengths = window_lengths();
  std::vector<std::vector<WindowPair>> of_shard(shards_.size());
  for (const WindowPair& pair : pairs) {
    const size_t length = lengths[pair.length_index];
    const auto window = text.subspan(pair.next - length, length);
    of_shard[shard_of(hash_tokens(window), config().shards)].push_back(pair);
  }
  std::vector<size_t> touched;
  for (size_t s = 0; s < shards_.size(); ++s)
    if (!of_shard[s].empty() && (!chosen || chosen(s))) touched.push_back(s);
  for (const size_t s : touched)
    shards_[s].matrix();  // a damaged file throws before any is written
  int64_t written = 0;
  for (const size_t s : touched) {
    shards_[s].edit(*code_, edit, text, of_shard[s]);
    written += std::ssize(of_shard[s]);
  }
  return written;
}

void TextMemory::merge(const TextMemory& other) {
  check_argument(config() == other.config(),
                 "text memory: only memories of equal code, dimension, heads, layers, shards, "
                 "vocabulary and seed can be merged");
  for (const auto both : {shards(), other.shards()})
    for (const MemoryShard& shard : both) shard.matrix();  // as in write_batch()
  for (size_t s = 0; s < shards_.size(); ++s) shards_[s].merge(other.shards_[s]);
}

std::vector<float> TextMemory::retrieve(const WindowQueries& queries) const {
  std::vector<float> retrieved(queries.keys.size());  // C is square
  if (shards_.size() == 1) {
    shards_[0].matrix().retrieve(queries.keys, retrieved);
    return retrieved;
  }
  std::vector<std::vector<size_t>> rows(shards_.size());
  for (size_t n = 0; n < queries.shards.size(); ++n) rows[queries.shards[n]].push_back(n);
  for (size_t s = 0; s < shards_.size(); ++s)
    if (!rows[s].empty()) retrieve_from(shards_[s], queries, rows[s], retrieved);
  return retrieved;
}

int64_t TextMemory::pairs() const {
  int64_t pairs = 0;
  for (const MemoryShard& shard : shards_) pairs += shard.pairs();
  return pairs;
}

double TextMemory::noise() const {
  double energy = 0;
  for (const MemoryShard& shard : shards_) energy += shard.energy();
  return code_->noise(energy / static_cast<double>(shards_.size()));
}

int64_t TextMemory::most_tokens(const TextMemoryConfig& config) {
  return physical_memory() / (WindowPairs::kMostBytes * std::max(1, config.layers));
}

}  // namespace tessera::memo
