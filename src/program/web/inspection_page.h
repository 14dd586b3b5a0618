#pragma once

#include <string>
#include <vector>

#include "tessera/infer/inspection.h"

namespace tessera::web {

/// One HTML file that opens offline: the text, of which every token shows the memories behind it,
/// as the program's page does. inspections: of the tokens from the second one on.
std::string inspection_page(const std::string& model, const Tokens& text,
                            const std::vector<Inspection>& inspections, const Tokenizer& tokenizer);

}  // namespace tessera::web
