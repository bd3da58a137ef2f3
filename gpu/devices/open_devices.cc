#include "gpu/devices/open_devices.h"

#include "base/format.h"
#include "base/text.h"
#include "gpu/cpu/cpu_device.h"
#include "gpu/cuda/open_cuda.h"

#include <unistd.h>

namespace dt {

namespace {

size_t host_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return CpuDeviceOptions().memory_bytes;
  return static_cast<size_t>(pages) * static_cast<size_t>(page_bytes);
}

}  // namespace

Result<DeviceList> open_devices(const Environment& environment) {
  const auto variable = environment.find("DTRAIN_CPU_DEVICES");
  if (variable == environment.end()) {
    auto opened = open_cuda_devices();
    if (!opened && opened.error().code == Errc::not_found)
      opened.error().message += "; DTRAIN_CPU_DEVICES=N makes N devices of the CPU, for tests";
    return opened;
  }
  const auto count = parse_integer(variable->second);
  if (!count || *count < 1 || *count > cpu_devices_max) {
    return fail(Errc::input, format("DTRAIN_CPU_DEVICES: must be a number from 1 to {}, not '{}'",
                                    cpu_devices_max, printable(variable->second)));
  }
  return open_cpu_devices({.count = static_cast<int>(*count)});
}

Result<DeviceList> open_devices_or_cpu(const Environment& environment) {
  auto devices = open_devices(environment);
  if (devices || devices.error().code != Errc::not_found) return devices;
  return open_only_cpus(environment);
}

Result<DeviceList> open_only_cpus(const Environment& environment) {
  if (environment.contains("DTRAIN_CPU_DEVICES")) return open_devices(environment);
  return open_cpu_devices({.count = 1, .memory_bytes = host_memory_bytes()});
}

}  // namespace dt
