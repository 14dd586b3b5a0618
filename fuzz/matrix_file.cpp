// Any bytes as a store's memory.safetensors: refused, or a matrix that is written and read again
// the same.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "fuzz/seeds.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/store/detail/matrix_file.h"
#include "tests/support/temporary_folder.h"

using namespace tessera;
using namespace tessera::store;

namespace {

constexpr int64_t kDimension = 2;

const StoreConfig& config() {
  static const StoreConfig config{.memory = {.dimension = kDimension}, .tokenizer = "0"};
  return config;
}

/// The bytes of a file with these entries.
std::string file_of(const std::array<int64_t, kDimension * kDimension>& entries) {
  const test::TemporaryFolder folder(test::folder_in_memory());
  const memo::MemoryShard shard(3, std::nullopt, [&] {
    return memo::ExactCorrelationMemory::from_bytes(kDimension, kDimension, 64,
                                                    std::as_bytes(std::span(entries)));
  });
  MatrixFile::write(folder / "seed", config(), 0, shard, /*change=*/7, "before");
  return read_file(folder / "seed");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::write_seeds(*argc, *argv,
                    {{"zeros", file_of({})}, {"wide", file_of({1, -2, int64_t{1} << 40, 4})}});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryFolder folder(test::folder_in_memory());
  fuzz::write(folder / "input", {reinterpret_cast<const char*>(data), size});
  try {
    const MatrixFile file(folder / "input", config(), 0);
    const memo::MemoryShard shard = file.shard();
    shard.matrix();
    MatrixFile::write(folder / "saved", config(), 0, shard, file.state().change,
                      file.state().after);
    const MatrixFile saved(folder / "saved", config(), 0);
    if (saved.state().change != file.state().change || saved.state().pairs != file.state().pairs ||
        !std::ranges::equal(saved.shard().matrix().bytes(), shard.matrix().bytes()))
      std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
