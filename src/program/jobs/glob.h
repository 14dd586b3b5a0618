#pragma once

#include <fnmatch.h>

#include <string>

namespace tessera::jobs {

/// Whether a glob, of which * and ? alone are wild, matches a text: names such as "page[1].html"
/// are common, and stand for themselves. flags: those of fnmatch().
inline bool glob_matches(const std::string& glob, const std::string& text, int flags = 0) {
  std::string escaped;
  for (const char c : glob) {
    if (c == '[' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return ::fnmatch(escaped.c_str(), text.c_str(), flags) == 0;
}

}  // namespace tessera::jobs
