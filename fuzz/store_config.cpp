// Any bytes as a store's config.json: refused, or saved and read again the same.
#include <cstdlib>

#include "fuzz/seeds.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/store/store_folder.h"
#include "tests/support/temporary_folder.h"

using namespace tessera;
using namespace tessera::store;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const test::TemporaryFolder folder(test::folder_in_memory());
  std::map<std::string, std::string> seeds;
  for (const auto code : {memo::WindowCodeKind::kBound, memo::WindowCodeKind::kPaper}) {
    const memo::TextMemoryConfig memory{.code = code, .dimension = 128};
    StoreConfig::of(memory, Tokenizer::bytes(EndOfText::kPresent)).save(folder / "config.json");
    seeds[std::string(config::enum_name(code))] = read_file(folder / "config.json");
  }
  fuzz::write_seeds(*argc, *argv, seeds);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryFolder folder(test::folder_in_memory());
  fuzz::write(folder / "input", {reinterpret_cast<const char*>(data), size});
  try {
    const auto config = StoreConfig::load(folder / "input");
    config.save(folder / "saved");
    const auto saved = StoreConfig::load(folder / "saved");
    if (saved != config || saved.text() != config.text()) std::abort();
    memo::window_lengths(config.memory);
  } catch (const DataError&) {
  }
  return 0;
}
