#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tessera/memo/text_memory_config.h"

namespace tessera::memo {

/// What a memory may be made of.
struct MemoryForm {
  WindowCodeKind code;
  int32_t shards;
};

/// A test of memories of every form, instantiated by kMemoryForms and name_of_form.
class MemoryFormTest : public testing::TestWithParam<MemoryForm> {
 protected:
  TextMemoryConfig config(int64_t dimension = 128, int64_t vocabulary = 300) const {
    return {.code = GetParam().code,
            .dimension = dimension,
            .heads = 2,
            .layers = 3,
            .shards = GetParam().shards,
            .vocabulary = vocabulary,
            .seed = 7};
  }
};

constexpr MemoryForm kMemoryForms[] = {
    {WindowCodeKind::kBound, 1}, {WindowCodeKind::kBound, 3}, {WindowCodeKind::kPaper, 1}};

inline std::string name_of_form(const testing::TestParamInfo<MemoryForm>& info) {
  const auto code = static_cast<size_t>(info.param.code);
  return std::string(enum_names(info.param.code)[code]) + std::to_string(info.param.shards);
}

}  // namespace tessera::memo
