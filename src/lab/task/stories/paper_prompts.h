#pragma once

#include <span>
#include <string_view>

namespace tessera::task::stories {

/// One of the 24 prompts of Eldan & Li 2023, with the continuations that Zhang et al. 2024 print in
/// table 4, of networks of 18 blocks.
struct PaperPrompt {
  std::string_view prompt, transformer, mosaic;
};

std::span<const PaperPrompt> paper_prompts();

}  // namespace tessera::task::stories
