#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "program/jobs/store_jobs.h"
#include "tessera/memo/text_memory_config.h"

namespace tessera::python {

/// Creates an empty store of a given size.
struct Create {
  static constexpr std::string_view kName = "create";
  static constexpr std::string_view kHelp = "Create an empty store";

  int64_t dimension = 1024;
  std::string tokenizer = "byte";
  memo::WindowCodeKind code = memo::WindowCodeKind::kBound;
  uint64_t seed = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("dimension", dimension,
          "width d of keys and values, a multiple of 64; a matrix has d^2 numbers");
    field("tokenizer", tokenizer, "byte, or the path of a tokenizer");
    field("code", code,
          "bound: holds the most and distinguishes the order of tokens; paper: as in Zanzotto et "
          "al. 2025, similar windows recall each other");
    field("seed", seed,
          "random seed of the codes; only stores with the same seed and sizes can be merged");
  }

  struct Answer {
    std::string store;

    config::Json json() const;
  };
  Answer run(const std::filesystem::path& folder, const jobs::OnProgress& on_progress) const;
};

}  // namespace tessera::python
