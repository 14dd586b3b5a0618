#pragma once

#include <string>

namespace tessera {

/// Walks a document of elements (SVG, or HTML written as XML) and returns what is wrong with it,
/// or an empty string: tags that do not match, attributes without quotes, a bare & or <, a name
/// given twice in one tag. The content of <script> and <style> is skipped.
std::string markup_fault(const std::string& document);

}  // namespace tessera
