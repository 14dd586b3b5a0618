#include "tessera/store/export.h"

#include <fmt/format.h>

#include "tessera/base/safetensors.h"

namespace tessera::store {

void export_memory(const MemoStore& store, const std::filesystem::path& out) {
  const memo::TextMemory& memory = store.memory();
  const memo::ExactCorrelationMemory& matrix = memory.matrix();
  const safetensors::TensorView tensor{
      matrix.bits() == 32 ? safetensors::DType::kI32 : safetensors::DType::kI64,
      {matrix.rows(), matrix.columns()},
      matrix.bytes()};
  safetensors::write(out, {{"C", tensor}},
                     {{"format", "tessera-memo-1"},
                      {"config", store.config().text()},
                      {"tokenizer", store.tokenizer().to_json()},
                      {"pairs", std::to_string(memory.pairs())},
                      {"digest", store.digest()},
                      {"noise", fmt::format("{}", memory.noise())}});
}

}  // namespace tessera::store
