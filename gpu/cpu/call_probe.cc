#include "gpu/cpu/call_probe.h"

#include <array>

namespace dt {

std::string_view name_of(DeviceCall call) {
  constexpr std::array<std::string_view, 11> names = {
      "allocate",  "make_stream", "make_event", "copy", "fill",       "reduce",
      "sum_peers", "run_on_host", "record",     "wait", "synchronize"};
  return names[static_cast<size_t>(call)];
}

}  // namespace dt
