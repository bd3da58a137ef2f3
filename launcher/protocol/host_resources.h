#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "gpu/visible.h"
#include "launcher/process/topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// What must be known of the hosts before a plan can be made and bound to them.
enum class ResourceNeed : uint8_t { nothing, cpus, gpus };

/// Launcher: what have you got? Asked only where the plan or the binding depends on it.
struct ResourcesWanted {
  bool gpus = true;                 ///< and not only the CPUs
  Duration patience = seconds(10);  ///< with NVIDIA's driver, which takes its time
  bool operator==(const ResourcesWanted&) const = default;
};

/// Agent: this.
struct HostResources {
  Topology topology;
  GpuList gpus;              ///< all that the agent can open
  VisibleVariables visible;  ///< as it has inherited them
  std::string gpu_failure;   ///< why GPUs could not be listed; empty when they could
  bool has_driver = true;    ///< false: the failure is only that this host has no NVIDIA driver
  bool operator==(const HostResources&) const = default;
};

Bytes encode(const ResourcesWanted& message);
Bytes encode(const HostResources& message);

}  // namespace dt
