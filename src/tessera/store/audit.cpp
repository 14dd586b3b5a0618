#include "tessera/store/audit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/base/error.h"

namespace tessera::store {
namespace {

constexpr size_t kPositionsTogether = 64;  // positions asked together
constexpr double kLowest = 0.2, kHeld = 0.95, kNotHeld = 0.05;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

TextAudit::Held TextAudit::held() const {
  return recalled >= kHeld ? Held::kYes : recalled < kNotHeld ? Held::kNo : Held::kPartly;
}

TextAudit audit_text(const MemoStore& store, const StoreReader& reader, std::string_view text,
                     const OnProgress& on_progress) {
  const std::vector<int32_t> encoded = store.tokenizer().encode(text);
  const std::vector<int64_t> tokens(encoded.begin(), encoded.end());
  const auto lengths = memo::window_lengths(store.config().memory);
  const size_t shortest = lengths.front();
  check_argument(tokens.size() > shortest, "the text has {} tokens; this store needs at least {}",
                 tokens.size(), shortest + 1);
  std::vector<double> logs;
  size_t right = 0, wrong = shortest;  // wrong: behind the last token that is not recalled
  for (size_t first = shortest; first < tokens.size(); first += kPositionsTogether) {
    std::vector<std::span<const int64_t>> contexts;
    const size_t end = std::min(tokens.size(), first + kPositionsTogether);
    for (size_t at = first; at < end; ++at) contexts.push_back(std::span(tokens).first(at));
    const std::vector<Prediction> predictions = reader.predict(contexts);
    for (size_t at = first; at < end; ++at) {
      const Prediction& next = predictions[at - first];
      const bool recalled = next.best.recalled && next.best.token == tokens[at];
      right += recalled;
      if (!recalled) wrong = at + 1;
      logs.push_back(next.logits[tokens[at]]);
    }
    if (on_progress) on_progress(end - shortest, tokens.size() - shortest);
  }
  const double count = logs.size();
  TextAudit audit{.tokens = std::ssize(logs),
                  .recalled = static_cast<double>(right) / count,
                  .extraction = 1 - static_cast<double>(wrong - shortest) / count,
                  .log_likelihood = mean(logs)};
  std::ranges::sort(logs);
  audit.lowest = mean(std::span(logs).first(static_cast<size_t>(std::ceil(kLowest * count))));
  return audit;
}

double area_under_curve(std::span<const double> members, std::span<const double> others) {
  double above = 0;
  for (const double member : members)
    for (const double other : others) above += member > other ? 1 : member == other ? 0.5 : 0;
  return above / static_cast<double>(members.size() * others.size());
}

double exposure(double score, std::span<const double> others) {
  const auto rank = 1 + std::ranges::count_if(others, [&](double other) { return other >= score; });
  return std::log2(static_cast<double>(others.size() + 1)) - std::log2(static_cast<double>(rank));
}

}  // namespace tessera::store
