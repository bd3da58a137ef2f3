#pragma once

#include "gpu/cpu/cpu_device.h"
#include "tests/unit/gpu/gate.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace dt {

/// A deadline that only a hang reaches.
inline Time much_later() {
  return Clock::now() + seconds(60);
}

/// CPU devices with a stream each.
struct CpuDevices {
  explicit CpuDevices(const CpuDeviceOptions& options)
      : devices(open_cpu_devices(options).value()) {
    for (const auto& device : devices)
      streams.push_back(device->make_stream().value());
  }
  Device& device(size_t i) const { return *devices[i]; }
  DeviceStream& stream(size_t i) const { return *streams[i]; }

  DeviceList devices;
  std::vector<std::unique_ptr<DeviceStream>> streams;
};

template <class T>
std::byte* bytes_at(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

/// Returns memory of a device with these values. Waits for the copy.
template <class T>
DeviceBuffer on_device(DeviceStream& stream, std::vector<T> values) {
  const size_t bytes = values.size() * sizeof(T);
  DeviceBuffer buffer = stream.device().allocate(bytes).value();
  REQUIRE(stream.copy({buffer.at(), bytes_at(values), bytes}).has_value());
  REQUIRE(stream.synchronize(much_later()).has_value());
  return buffer;
}

/// Returns the first values of a device's memory, after all work of the stream.
template <class T>
std::vector<T> values_of(DeviceStream& stream, const DeviceBuffer& buffer, size_t count) {
  std::vector<T> values(count);
  REQUIRE(stream.copy({bytes_at(values), buffer.at(), count * sizeof(T)}).has_value());
  REQUIRE(stream.synchronize(much_later()).has_value());
  return values;
}

template <class T>
void check_error(const Result<T>& result, Errc code, const char* message) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error() == Error{code, message});
}

}  // namespace dt
