#pragma once

#include <string_view>

#include "tessera/data/token_stream.h"
#include "tests/support/temporary_folder.h"

namespace tessera::test {

/// The tokens of a text.
inline TokenStream stream_of(std::string_view text, const Tokenizer& tokenizer) {
  const TemporaryFolder folder;
  TokenStreamWriter writer(folder / "tokens", tokenizer);
  writer.add_document(text);
  writer.finish();
  return TokenStream::open(folder / "tokens");
}

}  // namespace tessera::test
