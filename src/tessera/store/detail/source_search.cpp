#include "tessera/store/detail/source_search.h"

#include <algorithm>
#include <map>

#include "tessera/store/memo_store.h"
#include "tessera/store/text_search.h"

namespace tessera::store {
namespace {

constexpr int kPairBits = 14;
constexpr size_t kPairs = size_t{1} << kPairBits;

size_t hash_of_pair(int32_t before, int32_t token) {
  return (static_cast<uint32_t>(before) * 0x9E3779B1u +
          static_cast<uint32_t>(token) * 0x85EBCA6Bu) >>
         (32 - kPairBits);
}

/// [V]: how far each token moves a place on.
std::vector<TextPlace> steps_of(const Tokenizer& tokenizer) {
  std::vector<TextPlace> steps(tokenizer.vocabulary_size(), {.line = 0});
  for (int32_t token = 0; token < tokenizer.vocabulary_size(); ++token)
    if (token != tokenizer.end_of_text() && tokenizer.has_token(token))
      steps[token].step_over(tokenizer.token_bytes(token));
  return steps;
}

/// Says where in the documents' texts the sources are; of a token that begins inside a character,
/// behind that.
void find_places(const MemoStore& store, std::vector<TokenSources>& found) {
  std::map<std::string, std::multimap<int64_t, Source*>> sources;  // by id and position
  for (TokenSources& token : found)
    for (Source& source : token.best) sources[source.document].emplace(source.position, &source);
  if (sources.empty()) return;
  const std::vector<TextPlace> steps = steps_of(store.tokenizer());
  for (const auto& [id, by_position] : sources) {
    auto source = by_position.begin();
    int64_t position = 0;
    TextPlace here;
    const memo::TokenPieces pieces = store.ledger().pieces(store.ledger().get(id));
    for (auto piece = pieces(); !piece.empty() && source != by_position.end(); piece = pieces())
      for (const int32_t token : piece) {
        for (; source != by_position.end() && source->first == position; ++source) {
          source->second->byte = here.byte;
          source->second->character = here.character;
          source->second->line = here.line;
        }
        if (source == by_position.end()) break;
        const TextPlace& step = steps[token];
        here.byte += step.byte;
        here.character += step.character;
        here.line += step.line;
        ++position;
      }
  }
}

}  // namespace

SourceSearch::SourceSearch(std::span<const int32_t> text, size_t first, int64_t shortest,
                           size_t most)
    : first_(first),
      most_(most),
      shortest_(shortest),
      has_pair_(kPairs, 0),
      text_(text.begin(), text.end()),
      runs_(text.size()),
      found_(text.size() - std::min(first, text.size())) {
  for (size_t place = text.size(); place-- > 0;) {
    const size_t token = text[place];
    if (token >= places_.size()) places_.resize(token + 1);
    places_[token].push_back(place);
  }
  for (size_t place = 1; place < text.size(); ++place)
    has_pair_[hash_of_pair(text[place - 1], text[place])] = 1;
}

/// Of as many pairs in a row as a source has at least, one in each `shortest` is looked at; if the
/// text has it, those around it are, too.
void SourceSearch::read(const std::string& id, const memo::TokenPieces& pieces) {
  std::ranges::fill(runs_, Run{});
  const size_t step = shortest_;
  const uint8_t* const has_pair = has_pair_.data();
  int64_t position = 0;
  int32_t last = -1;  // of the piece before
  for (auto piece = pieces(); !piece.empty(); piece = pieces()) {
    size_t seen = 0;
    const auto see_until = [&](size_t first, size_t end) {
      for (seen = std::max(seen, first); seen < end; ++seen)
        see(id, position + static_cast<int64_t>(seen), seen == 0 ? last : piece[seen - 1],
            piece[seen]);
    };
    for (size_t i = 0; i < piece.size(); i += step)
      if (has_pair[hash_of_pair(i == 0 ? last : piece[i - 1], piece[i])] != 0)
        see_until(i < step ? 0 : i - step + 1, std::min(piece.size(), i + step));
    see_until(piece.size() - std::min(piece.size(), step), piece.size());
    position += std::ssize(piece);
    last = piece.back();
  }
}

void SourceSearch::see(const std::string& id, int64_t position, int32_t before, int32_t token) {
  if (has_pair_[hash_of_pair(before, token)] == 0 || static_cast<size_t>(token) >= places_.size())
    return;
  // Last place first, so that the run before each place is still that of the previous position.
  for (const size_t place : places_[token]) {
    if (place == 0 || text_[place - 1] != before) continue;
    const Run& run = runs_[place - 1];
    const int64_t matched = run.position == position - 1 ? run.length : 1;
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

std::vector<TokenSources> MemoStore::sources(std::span<const int32_t> text, size_t first,
                                             size_t most) const {
  if (first >= text.size()) return {};
  SourceSearch search(text, first, memo::window_lengths(config().memory).front(), most);
  for (const StoredDocument& document : ledger().documents())
    search.read(document.id, ledger().pieces(document));
  std::vector<TokenSources> found = search.found();
  find_places(*this, found);
  return found;
}

}  // namespace tessera::store
