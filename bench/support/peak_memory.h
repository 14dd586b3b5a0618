#pragma once

#include <fstream>
#include <string>

namespace tessera::bench {

/// The largest resident memory of the process since construction, over what it held then (Linux).
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM starts anew at the current size
    start_ = kilobytes("VmRSS:");
  }
  double mebibytes() const { return (kilobytes("VmHWM:") - start_) / 1024.0; }

 private:
  static double kilobytes(const char* field) {
    std::ifstream status("/proc/self/status");
    for (std::string name; status >> name;) {
      if (name == field) {
        double value = 0;
        status >> value;
        return value;
      }
    }
    return 0;
  }

  double start_ = 0;
};

}  // namespace tessera::bench
