#include "tessera/store/export.h"

#include <fmt/format.h>

#include "tessera/base/safetensors.h"

namespace tessera::store {

void export_memory(const MemoStore& store, const std::filesystem::path& out) {
  const memo::TextMemory& memory = store.memory();
  std::vector<safetensors::NamedTensor> tensors;
  for (const memo::MemoryShard& shard : memory.shards()) {
    const memo::ExactCorrelationMemory& matrix = shard.matrix();
    const std::string name =
        memory.shards().size() == 1 ? "C" : fmt::format("C.{}", tensors.size());
    tensors.push_back({name,
                       {matrix.bits() == 32 ? safetensors::DType::kI32 : safetensors::DType::kI64,
                        {matrix.rows(), matrix.columns()},
                        matrix.bytes()}});
  }
  safetensors::write(out, tensors,
                     {{"format", "tessera-memo-1"},
                      {"config", store.config().text()},
                      {"tokenizer", store.tokenizer().to_json()},
                      {"pairs", std::to_string(memory.pairs())},
                      {"digest", store.digest()},
                      {"noise", fmt::format("{}", memory.noise())}});
}

}  // namespace tessera::store
