#include "tessera/tensor/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tessera/base/error.h"

namespace tessera {
namespace {

/// The name as LibTorch reads it, if it does. It reads "cuda:256" as "cuda:0".
std::optional<c10::Device> parsed(const std::string& name) {
  try {
    const c10::Device device(name);
    return device.str() == name ? std::optional(device) : std::nullopt;
  } catch (const c10::Error&) {
    return {};
  }
}

/// How many of a type there are: LibTorch has a guard for those that it was built for.
int64_t count_of(c10::DeviceType type) {
  if (type == c10::DeviceType::CPU) return 1;
  // Both have a guard; Meta holds no numbers, and Vulkan (Debian 13) ends the program without a
  // GPU.
  if (type == c10::DeviceType::Meta || type == c10::DeviceType::Vulkan) return 0;
  if (!c10::impl::hasDeviceGuardImpl(type)) return 0;
  return c10::impl::getDeviceGuardImpl(type)->deviceCount();
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  constexpr auto kTypes = static_cast<int>(c10::DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES);
  for (int type = 0; type < kTypes; ++type) {
    const auto device_type = static_cast<c10::DeviceType>(type);
    const std::string name = c10::DeviceTypeName(device_type, /*lower_case=*/true);
    const int64_t count = count_of(device_type);
    if (count > 0) names.push_back(name);
    for (int64_t index = 1; index < count; ++index)
      names.push_back(fmt::format("{}:{}", name, index));
  }
  return names;
}

}  // namespace

c10::Device named_device(const std::string& name) {
  if (const auto device = parsed(name);
      device && std::max<int64_t>(0, device->index()) < count_of(device->type())) {
    if (device->is_cuda()) at::globalContext().setAllowTF32CuDNN(false);
    return *device;
  }
  throw UsageError(
      "device is '{}', expected one of those that this machine and its LibTorch have: {}", name,
      fmt::join(device_names(), ", "));
}

}  // namespace tessera
