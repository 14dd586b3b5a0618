#include "lab/study/folder_name.h"

#include <cctype>

namespace tessera {

std::string folder_name(std::string_view name) {
  std::string folder;
  bool is_between = false;
  for (const unsigned char c : name) {
    if (std::isalnum(c) == 0) {
      is_between = true;
      continue;
    }
    if (is_between && !folder.empty()) folder += '-';
    is_between = false;
    folder += static_cast<char>(std::tolower(c));
  }
  return folder;
}

}  // namespace tessera
