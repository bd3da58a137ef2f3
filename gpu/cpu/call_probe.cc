#include "gpu/cpu/call_probe.h"

#include <array>

namespace dt {

std::string_view name_of(DeviceCall call) {
  constexpr std::array<std::string_view, 13> names = {
      "allocate",    "make_stream", "make_event",  "copy",   "fill", "reduce",     "sum_peers",
      "write_value", "wait_value",  "run_on_host", "record", "wait", "synchronize"};
  return names[static_cast<size_t>(call)];
}

}  // namespace dt
