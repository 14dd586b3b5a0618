#pragma once

#include <libxml/parser.h>

#include <memory>
#include <string>

namespace tessera {

/// What is wrong with a document of elements (SVG, or HTML written as XML), or an empty string.
inline std::string markup_fault(const std::string& document) {
  const std::unique_ptr<xmlParserCtxt, void (*)(xmlParserCtxtPtr)> parser(xmlNewParserCtxt(),
                                                                          &xmlFreeParserCtxt);
  xmlFreeDoc(xmlCtxtReadMemory(parser.get(), document.data(), static_cast<int>(document.size()),
                               nullptr, "UTF-8",
                               XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NONET));
  return parser->wellFormed ? "" : parser->lastError.message;
}

}  // namespace tessera
