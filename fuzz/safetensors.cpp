// Any bytes as a safetensors file: refused, or every tensor's bytes can be read; and as tokens.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/safetensors.h"
#include "tessera/data/token_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  static const int file = ::memfd_create("input", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  try {
    const auto tensors = safetensors::File::open(path);
    unsigned sum = 0;
    for (const auto& [name, tensor] : tensors.tensors())
      for (std::byte byte : tensor.bytes) sum += static_cast<unsigned>(byte);
    [[maybe_unused]] static volatile unsigned sink;
    sink = sum;
    const auto stream = TokenStream::open(path);
    std::vector<int64_t> ids(stream.size());
    stream.read(0, ids);
  } catch (const DataError&) {
  }
  return 0;
}
