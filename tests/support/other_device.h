#pragma once

#include <c10/core/Device.h>

namespace tessera::test {

/// The first GPU; where the machine has none, a device that stands for one. Its functions are the
/// CPU's, but as on a GPU its tensors are not read by the host, and tensors of both devices do not
/// mix. Its type is one that no build of Debian has functions for.
c10::Device other_device();

}  // namespace tessera::test
