#include "tessera/memory/window_code.h"

#include "tessera/memory/bound_code.h"
#include "tessera/memory/paper_code.h"

namespace tessera {

std::unique_ptr<const WindowCode> WindowCode::make(const TextMemoryConfig& config) {
  check_config(config);
  if (config.code == WindowCodeKind::kPaper) return std::make_unique<PaperCode>(config);
  return std::make_unique<BoundCode>(config);
}

}  // namespace tessera
