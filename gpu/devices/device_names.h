#pragma once

#include "gpu/device.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns "cpu:1" for TensorFlow's "/device:CPU:1", and "cuda:1" for "gpu:1". A number stays as it
/// is.
std::string plain_device_name(std::string_view name);
/// True for the number of this device, and for all its names.
bool names_device(std::string_view name, const Device& device);

/// Finds devices by their names, separated by commas. Returns their places in the list. Fails with
/// Errc::input for a device that does not exist, and for one that is named twice.
Result<std::vector<size_t>> find_devices(std::string_view names, const DeviceList& devices);

}  // namespace dt
