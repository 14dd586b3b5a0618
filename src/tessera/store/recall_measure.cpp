#include "tessera/store/recall_measure.h"

#include <algorithm>
#include <set>
#include <span>
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
    const int64_t number = random.below(last + 1);
    if (!numbers.insert(number).second) numbers.insert(last);
  }
  return numbers;
}

std::vector<int32_t> tokens_of(const Ledger& ledger, const StoredDocument& document) {
  std::vector<int32_t> tokens;
  const memo::TokenPieces pieces = ledger.pieces(document);
  for (auto piece = pieces(); !piece.empty(); piece = pieces())
    tokens.insert(tokens.end(), piece.begin(), piece.end());
  return tokens;
}

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
    result_.positions += std::ssize(given);
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
                              const OnProgress& on_progress) {
  check_argument(positions > 0, "measured recall: {} positions, expected at least 1", positions);
  const Ledger& ledger = store.ledger();
  const auto documents = ledger.documents();
  const auto lengths = memo::window_lengths(store.config().memory);
  const auto positions_of = [&](const StoredDocument& document) {
    return std::max<int64_t>(0, document.tokens - lengths.front());
  };
  int64_t count = 0;
  for (const auto& document : documents) count += positions_of(document);
  const std::set<int64_t> chosen = sample(std::min(positions, count), count, seed);
  Questions questions(store);
  auto next = chosen.begin();
  int64_t before = 0, asked = 0;  // before: positions of the documents before this one
  for (const auto& document : documents) {
    const int64_t end = before + positions_of(document);
    std::vector<int32_t> text;  // of a document that is asked for
    for (; next != chosen.end() && *next < end; ++next) {
      if (text.empty()) text = tokens_of(ledger, document);
      const size_t at = *next - before + lengths.front();
      const size_t context = std::min<size_t>(at, lengths.back());
      questions.add(std::span(text).subspan(at - context, context), text[at]);
      if (on_progress) on_progress(++asked, std::ssize(chosen));
    }
    before = end;
  }
  return questions.ask();
}

}  // namespace tessera::store
