#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <string_view>

namespace dt {

/// The calls of CPU devices.
enum class DeviceCall : uint8_t {
  allocate,
  allocate_on_stream,
  make_stream,
  make_event,
  copy,
  fill,
  reduce,
  sum_peers,
  write_value,
  wait_value,
  run_on_host,
  record,
  wait,
  synchronize,
};

std::string_view name_of(DeviceCall call);

/// One call of a device.
struct ProbedCall {
  int device = 0;
  DeviceCall call = DeviceCall::copy;
  bool runs = false;  ///< on the thread of its stream; else it is being made
  bool operator==(const ProbedCall&) const = default;
};

/// Called before each call is made, and again before it runs on a stream; by several threads. Its
/// error is that of the call. When it blocks, the call takes longer.
using CallProbe = std::function<Result<>(const ProbedCall&)>;

}  // namespace dt
