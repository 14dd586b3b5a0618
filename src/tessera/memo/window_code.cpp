#include "tessera/memo/window_code.h"

#include "tessera/memo/detail/bound_code.h"
#include "tessera/memo/detail/paper_code.h"

namespace tessera::memo {

void WindowQueries::unbind(std::span<float> retrieved) const {
  if (masks.empty()) return;
  for (size_t c = 0; c < retrieved.size(); ++c)
    if ((masks[c / 64] >> (c % 64) & 1) != 0) retrieved[c] = -retrieved[c];
}

std::unique_ptr<const WindowCode> WindowCode::make(const TextMemoryConfig& config) {
  check_config(config);
  if (config.code == WindowCodeKind::kPaper) return std::make_unique<PaperCode>(config);
  return std::make_unique<BoundCode>(config);
}

}  // namespace tessera::memo
