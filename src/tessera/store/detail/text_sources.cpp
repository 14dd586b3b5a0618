#include "tessera/store/detail/text_sources.h"

#include <map>

#include "tessera/store/detail/source_search.h"
#include "tessera/store/document_text.h"

namespace tessera::store {
namespace {

/// Says where in the documents' texts the sources are.
void find_places(const MemoStore& store, std::vector<TokenSources>& found) {
  std::map<std::string, std::map<int64_t, std::vector<Source*>>> sources;  // by id and position
  for (TokenSources& token : found)
    for (Source& source : token.best) sources[source.document][source.position].push_back(&source);
  for (const auto& [id, by_position] : sources) {
    std::vector<int64_t> positions;
    for (const auto& [position, of_it] : by_position) positions.push_back(position);
    const auto places = places_of(store, store.ledger().get(id), positions);
    auto place = places.begin();
    for (const auto& [position, of_it] : by_position) {
      for (Source* source : of_it) {
        source->byte = place->byte;
        source->character = place->character;
        source->line = place->line;
      }
      ++place;
    }
  }
}

}  // namespace

std::vector<TokenSources> sources_of(const MemoStore& store, std::span<const int32_t> text,
                                     size_t first, size_t most) {
  SourceSearch search(text, first, memo::window_lengths(store.config().memory).front(), most);
  for (const StoredDocument& document : store.ledger().documents())
    search.read(document.id, store.ledger().pieces(document));
  std::vector<TokenSources> found = search.found();
  find_places(store, found);
  return found;
}

}  // namespace tessera::store
