#pragma once

#include <c10/core/Device.h>

#include <string>

namespace tessera {

/// What settings and options that name a device say of it.
constexpr const char* kDeviceHelp =
    "device that runs the network: cpu or, where LibTorch has it, cuda (cuda:1 for the second)";

/// The device of this name: "cpu", "cuda", "cuda:1". From then on the recurrent layers of a GPU
/// multiply float32 numbers as such; LibTorch lets cuDNN round them to TF32's 10 bits. Throws
/// UsageError, which lists the devices that there are, on any other name.
c10::Device named_device(const std::string& name);

}  // namespace tessera
