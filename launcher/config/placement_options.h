#pragma once

#include "base/result.h"
#include "launcher/config/option_source.h"

#include <cstdint>
#include <optional>

namespace dt {

/// Limit of one job.
inline constexpr int processes_max = 65536;

/// The order in which processes are assigned to hosts, or ranks to processes.
enum class MapBy : uint8_t {
  slot,  ///< fill one host before the next
  node,  ///< one on each host in turn, then again
};

/// The CPUs of its host that a process is bound to.
enum class BindTo : uint8_t {
  none,
  core,
  numa,
  automatic,
  near_gpu,  ///< automatic on a host with GPUs, else numa
};

/// The GPUs of its host that a process sees: all that its agent sees, or that of its local rank.
enum class GpuBind : uint8_t { none, rank };

/// The resource by which a host without slots counts them.
enum class SlotUnit : uint8_t { gpu_or_cpu, gpu, cpu };

/// How processes are placed on hosts, CPUs and GPUs.
struct PlacementOptions {
  std::optional<MapBy> map_by;        ///< none: by slot, but by node where no host has slots
  std::optional<MapBy> rank_by;       ///< none: by slot, or the map_by that was given
  std::optional<SlotUnit> slot_unit;  ///< none: the slots that hosts have in their lists
  std::optional<int> per_host;        ///< --ppn: processes of each host; replaces its slots
  BindTo bind_to = BindTo::none;
  bool report_bindings = false;
  GpuBind gpu_bind = GpuBind::none;
  bool gpu_share = false;  ///< ranks may share GPUs
  bool operator==(const PlacementOptions&) const = default;
};

Result<> read_placement(const OptionSources& sources, PlacementOptions& placement);

}  // namespace dt
