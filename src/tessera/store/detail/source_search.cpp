#include "tessera/store/detail/source_search.h"

#include <algorithm>

namespace tessera::store {

SourceSearch::SourceSearch(std::span<const int32_t> text, size_t first, int64_t shortest,
                           size_t most)
    : first_(first),
      most_(most),
      shortest_(shortest),
      runs_(text.size()),
      found_(text.size() - std::min(first, text.size())) {
  for (size_t place = text.size(); place-- > 0;) {
    const auto token = static_cast<size_t>(text[place]);
    if (token >= places_.size()) places_.resize(token + 1);
    places_[token].push_back(place);
  }
}

void SourceSearch::read(const std::string& id, const memo::TokenPieces& pieces) {
  std::ranges::fill(runs_, Run{});
  int64_t position = 0;
  for (auto piece = pieces(); !piece.empty(); piece = pieces())
    for (const int32_t token : piece) see(id, position++, token);
}

void SourceSearch::see(const std::string& id, int64_t position, int32_t token) {
  if (static_cast<size_t>(token) >= places_.size()) return;
  // Last place first, so that the run before each place is still that of the previous position.
  for (const size_t place : places_[static_cast<size_t>(token)]) {
    const bool goes_on = place > 0 && runs_[place - 1].position == position - 1;
    const int64_t matched = goes_on ? runs_[place - 1].length : 0;
    runs_[place] = {position, matched + 1};
    if (place >= first_ && matched >= shortest_)
      take(found_[place - first_], id, position, matched);
  }
}

void SourceSearch::take(TokenSources& sources, const std::string& id, int64_t position,
                        int64_t matched) const {
  ++sources.places;
  auto& best = sources.best;
  if (best.size() == most_ && (best.empty() || best.back().matched_length >= matched)) return;
  const auto place = std::find_if(best.begin(), best.end(), [&](const Source& source) {
    return source.matched_length < matched;
  });
  best.insert(place, {.document = id, .position = position, .matched_length = matched});
  if (best.size() > most_) best.pop_back();
}

}  // namespace tessera::store
