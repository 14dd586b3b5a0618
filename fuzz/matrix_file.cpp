// Any bytes as a store's memory.safetensors: refused, or a matrix that is written and read again
// the same. The target puts its seeds into the corpus folder itself:
//   mkdir corpus && build/fuzz/fuzz_matrix_file -max_total_time=60 corpus
#include <algorithm>
#include <array>
#include <cstdlib>

#include "fuzz/folder.h"
#include "tessera/base/error.h"
#include "tessera/memo/outer_products.h"
#include "tessera/store/matrix_file.h"

using namespace tessera;
using namespace tessera::store;

// No product is taken here; the loops that take them are compiled by GCC alone.
void memo::add_outer_products(const memo::SignRows&, const memo::SignRows&, int, int32_t*) {
  std::abort();
}
void memo::add_outer_products(std::span<const int8_t>, std::span<const int8_t>, int64_t, int64_t,
                              int, int32_t*) {
  std::abort();
}
void memo::read_outer_products(std::span<const int8_t>, const int32_t*, int64_t, int64_t, float*) {
  std::abort();
}

namespace {

constexpr const char* kConfig = "{}";
constexpr int64_t kDimension = 2;

/// The bytes of a file with these entries.
std::string file_of(std::array<int64_t, kDimension * kDimension> entries) {
  const fuzz::Folder folder;
  auto bytes = std::as_writable_bytes(std::span(entries));
  MatrixFile::write(
      folder / "seed", kConfig, {.change = 7, .pairs = 3},
      memo::ExactCorrelationMemory::from_bytes(kDimension, kDimension, 64, bytes, nullptr));
  return fuzz::read(folder / "seed");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::write_seeds(*argc, *argv,
                    {{"zeros", file_of({})}, {"wide", file_of({1, -2, int64_t{1} << 40, 4})}});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  fuzz::write(folder / "input", {reinterpret_cast<const char*>(data), size});
  try {
    auto file = MatrixFile::open(folder / "input", kConfig, kDimension);
    const MatrixState state = file.state();
    const memo::ExactCorrelationMemory matrix = std::move(file).matrix();
    MatrixFile::write(folder / "saved", kConfig, state, matrix);
    auto saved = MatrixFile::open(folder / "saved", kConfig, kDimension);
    if (saved.state().change != state.change || saved.state().pairs != state.pairs ||
        !std::ranges::equal(std::move(saved).matrix().bytes(), matrix.bytes()))
      std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
