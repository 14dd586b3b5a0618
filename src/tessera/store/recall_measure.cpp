#include "tessera/store/recall_measure.h"

#include <algorithm>
#include <set>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/store/recall.h"

namespace tessera::store {
namespace {

constexpr size_t kBatch = 256;  // contexts read at once

/// `count` different numbers below `bound`, ascending (Floyd's sampling).
std::set<int64_t> sample(int64_t count, int64_t bound, uint64_t seed) {
  RandomStream random(seed);
  std::set<int64_t> numbers;
  for (int64_t last = bound - count; last < bound; ++last) {
    const auto number = static_cast<int64_t>(random.below(static_cast<uint64_t>(last) + 1));
    if (!numbers.insert(number).second) numbers.insert(last);
  }
  return numbers;
}

/// The positions of all documents, one after the other.
class Places {
 public:
  explicit Places(const MemoStore& store)
      : ledger_(store.ledger()),
        shortest_(memo::window_lengths(store.config().memory).front()),
        longest_(static_cast<size_t>(memo::window_lengths(store.config().memory).back())) {}

  int64_t count() const {
    int64_t places = 0;
    for (const auto& document : ledger_.documents())
      places += std::max<int64_t>(0, document.tokens - shortest_);
    return places;
  }

  /// Calls visit(index, the tokens before the position, the token there).
  template <typename Visit>
  void for_each(Visit&& visit) const {
    int64_t place = 0;
    for (const auto& document : ledger_.documents()) {
      const memo::TokenPieces pieces = ledger_.pieces(document);
      std::vector<int32_t> text;  // the last piece, and the longest window before it
      int64_t position = 0;
      for (auto piece = pieces(); !piece.empty(); piece = pieces()) {
        const size_t kept = std::min(text.size(), longest_);
        text.erase(text.begin(), text.end() - static_cast<int64_t>(kept));
        text.insert(text.end(), piece.begin(), piece.end());
        for (size_t at = kept; at < text.size(); ++at, ++position) {
          if (position < shortest_) continue;
          const size_t context = std::min(at, longest_);
          visit(place++, std::span<const int32_t>(text).subspan(at - context, context), text[at]);
        }
      }
    }
  }

 private:
  const Ledger& ledger_;
  int64_t shortest_;
  size_t longest_;
};

/// Contexts to be read together, and the results of those read before.
class Questions {
 public:
  explicit Questions(const MemoStore& store) : reader_(store) {}

  void add(std::span<const int32_t> context, int32_t answer) {
    contexts_.emplace_back(context.begin(), context.end());
    answers_.push_back(answer);
    if (contexts_.size() == kBatch) ask();
  }

  const MeasuredRecall& ask() {
    const std::vector<std::span<const int32_t>> contexts(contexts_.begin(), contexts_.end());
    const auto given = reader_.next_of(contexts);
    for (size_t i = 0; i < given.size(); ++i) {
      result_.right += given[i].token == answers_[i];
      result_.recalled += given[i].recalled;
    }
    result_.positions += static_cast<int64_t>(given.size());
    contexts_.clear();
    answers_.clear();
    return result_;
  }

 private:
  StoreReader reader_;
  std::vector<std::vector<int32_t>> contexts_;
  std::vector<int32_t> answers_;
  MeasuredRecall result_;
};

}  // namespace

MeasuredRecall measure_recall(const MemoStore& store, int64_t positions, uint64_t seed,
                              const std::function<void(int64_t done)>& on_progress) {
  check_argument(positions > 0, "measured recall: {} positions, expected at least 1", positions);
  const Places places(store);
  const int64_t count = places.count();
  const std::set<int64_t> chosen = sample(std::min(positions, count), count, seed);
  Questions questions(store);
  auto next = chosen.begin();
  int64_t asked = 0;
  places.for_each([&](int64_t place, std::span<const int32_t> context, int32_t token) {
    if (next == chosen.end() || *next != place) return;
    ++next;
    questions.add(context, token);
    if (on_progress) on_progress(++asked);
  });
  return questions.ask();
}

}  // namespace tessera::store
