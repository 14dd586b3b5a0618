#pragma once

#include <string>
#include <vector>

#include "tessera/infer/inspection.h"
#include "tessera/infer/model_folder.h"

namespace tessera::web {

/// One HTML file that opens offline: the text, of which every token shows the memories behind it,
/// as the program's page does. title: a name above it. inspections: of the tokens from the second
/// one on, by the folder's model.
std::string inspection_page(const std::string& title, const Tokens& text,
                            const std::vector<Inspection>& inspections, const ModelFolder& folder);

}  // namespace tessera::web
