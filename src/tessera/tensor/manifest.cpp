#include "tessera/tensor/manifest.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/chrono.h>
#include <sys/utsname.h>
#include <torch/version.h>

#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tessera/base/machine.h"
#include "tessera/base/version.h"

extern "C" {
char* openblas_get_corename();
char* openblas_get_config();
}

namespace tessera {
namespace {

using config::Json;

/// The value of the first "name : value" line of /proc/cpuinfo or /proc/meminfo.
std::string proc_value(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "unknown";
}

/// Those of the processor's instruction sets that matter to the loops here.
Json instruction_sets() {
  Json found = Json::array();
  std::istringstream flags(proc_value("/proc/cpuinfo", "flags"));
  for (std::string flag; flags >> flag;)
    if (flag == "fma" || flag == "f16c" || flag.starts_with("avx") || flag.starts_with("amx"))
      found.push_back(flag);
  return found;
}

Json libraries() {
  const std::string onednn = at::get_mkldnn_version();  // of several lines
  return {{"libtorch", TORCH_VERSION},
          {"openblas", openblas_get_config()},
          {"openblas_kernels", openblas_get_corename()},
          {"onednn", onednn.substr(0, onednn.find('\n'))}};
}

Json machine() {
  utsname system{};
  ::uname(&system);
  const double bytes = physical_memory();
  return {{"processor", proc_value("/proc/cpuinfo", "model name")},
          {"cores", std::thread::hardware_concurrency()},
          {"instruction_sets", instruction_sets()},
          {"memory_gib", std::round(bytes / (1 << 30) * 10) / 10},
          {"threads", at::get_num_threads()},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)}};
}

}  // namespace

Json build_description() {
  return {{"tessera", version()},
          {"revision", revision()},
          {"compiler", compiler()},
          {"libraries", libraries()},
          {"machine", machine()}};
}

Json manifest(uint64_t seed) {
  Json result = {{"seed", seed},
                 {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  result.update(build_description());
  return result;
}

}  // namespace tessera
