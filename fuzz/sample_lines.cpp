// Samples of a task as JSON lines.

#include <cstdint>
#include <sstream>

#include "lab/learner/sequence/sample_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  std::istringstream file(std::string(reinterpret_cast<const char*>(data), size));
  try {
    task::FileSamples samples("input", std::nullopt);
    task::read_sample_lines(file, "input", samples);
    samples.all();
  } catch (const DataError&) {
  }
  return 0;
}
