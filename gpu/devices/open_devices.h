#pragma once

#include "base/environment.h"
#include "gpu/device.h"

namespace dt {

/// Opens the devices on which this process computes. `DTRAIN_CPU_DEVICES=4` makes four of them on
/// CPUs, to test without GPUs. Fails with Errc::not_found and the reason when there is none, and
/// with Errc::input for a wrong value of the variable.
Result<DeviceList> open_devices(const Environment& environment);

/// The same, but where there is none, one device of the CPU, with the memory of this host.
Result<DeviceList> open_devices_or_cpu(const Environment& environment);

/// Opens devices of the CPU: DTRAIN_CPU_DEVICES of them, else one with the memory of this host.
/// Fails with Errc::input for a wrong value of the variable.
Result<DeviceList> open_only_cpus(const Environment& environment);

}  // namespace dt
