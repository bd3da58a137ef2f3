#pragma once

#include "gpu/device.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace dt {

/// Finds devices by their names, separated by commas: "0", "cpu:1", or as TensorFlow writes them,
/// "/cpu:1" and "/device:CPU:1". Returns their places in the list. Fails with Errc::input for a
/// device that does not exist, and for one that is named twice.
Result<std::vector<size_t>> find_devices(std::string_view names, const DeviceList& devices);

}  // namespace dt
