#pragma once

#include "gpu/device.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns "cpu:1" for TensorFlow's "/device:CPU:1" and "/job:worker/task:0/cpu:1", and "cuda:1"
/// for "gpu:1". A number stays as it is.
std::string plain_device_name(std::string_view name);
/// True for the number of this device, and for all its names.
bool names_device(std::string_view name, const Device& device);

/// The process that looks for its devices, as names of devices have it.
struct DeviceOwner {
  std::string job = "worker";
  int task = 0;
  bool operator==(const DeviceOwner&) const = default;
};
/// True unless the name has a job, a task or a replica that is not this process: "localhost" is.
bool is_device_of(std::string_view name, const DeviceOwner& self);

/// True when the names are of devices of the CPU: those that are this process's, and at least one.
bool names_only_cpus(std::string_view names, const DeviceOwner& self = {});

struct DeviceSearch {
  DeviceOwner self = {};
  bool soft = false;  ///< a device that does not exist becomes the next device of the CPU
};

struct FoundDevices {
  std::vector<size_t> places = {};          ///< in the list, as the names are ordered
  std::vector<std::string> fallbacks = {};  ///< a sentence for each device that became another one
};

/// Finds devices by their names, separated by commas. Names of other processes' devices are left
/// out. Fails with Errc::input for a device that does not exist or is named twice. Also fails when
/// no name is left.
Result<FoundDevices> find_devices(std::string_view names, const DeviceList& devices,
                                  const DeviceSearch& search = {});

}  // namespace dt
