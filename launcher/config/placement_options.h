#pragma once

#include "base/result.h"
#include "launcher/config/option_source.h"

#include <cstdint>
#include <optional>

namespace dt {

/// In one job.
inline constexpr int processes_max = 65536;

/// In which order processes are dealt to hosts, or ranks to processes.
enum class MapBy : uint8_t {
  slot,  ///< one host is served fully before the next
  node,  ///< one to each host in turn, then again
};

/// Which CPUs of its host a process is bound to.
enum class BindTo : uint8_t { none, core, numa, automatic };

/// Which GPUs of its host a process sees: all that its agent does, or that of its local rank.
enum class GpuBind : uint8_t { none, rank };

/// Who is placed where, and on what.
struct PlacementOptions {
  MapBy map_by = MapBy::slot;
  MapBy rank_by = MapBy::slot;  ///< as map_by, unless it was given
  std::optional<int> per_host;  ///< --ppn: processes a host, whatever slots it has
  BindTo bind_to = BindTo::none;
  bool report_bindings = false;
  GpuBind gpu_bind = GpuBind::none;
  bool operator==(const PlacementOptions&) const = default;
};

Result<> read_placement(const OptionSources& sources, PlacementOptions& placement);

}  // namespace dt
