#include "gpu/cpu/call_probe.h"

#include <array>

namespace dt {

std::string_view name_of(DeviceCall call) {
  constexpr std::array<std::string_view, 14> names = {
      "allocate", "allocate_on_stream", "make_stream", "make_event", "copy",        "fill",
      "reduce",   "sum_peers",          "write_value", "wait_value", "run_on_host", "record",
      "wait",     "synchronize"};
  return names[static_cast<size_t>(call)];
}

}  // namespace dt
