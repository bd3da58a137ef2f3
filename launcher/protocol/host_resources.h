#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "gpu/visible.h"
#include "launcher/process/topology.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Which resources of the hosts the launcher must know before it can make and bind a plan.
enum class ResourceNeed : uint8_t { nothing, cpus, gpus };

/// From the launcher: list your resources. Sent only where the plan or the binding depends on them.
struct ResourcesWanted {
  bool gpus = true;                 ///< false: CPUs only
  Duration patience = seconds(10);  ///< for NVIDIA's driver, which may be slow
  bool operator==(const ResourcesWanted&) const = default;
};

/// From the agent: the CPUs and GPUs of its host.
struct HostResources {
  Topology topology;
  std::optional<int> cpu_quota;  ///< whole CPUs of time that cgroups leave; none without a limit
  GpuList gpus;                  ///< all that the agent can open
  uint64_t memory_bytes = 0;     ///< that cgroups leave; 0: unknown
  bool limits_memory = false;    ///< the agent may limit the memory of a task
  VisibleVariables visible;      ///< from the agent's own environment
  std::string gpu_failure;       ///< why GPUs could not be listed; empty when they could
  bool has_driver = true;        ///< false: the failure is only that this host has no NVIDIA driver
  /// Returns the slots that a host without GPUs offers.
  int cpu_slots() const;
  bool operator==(const HostResources&) const = default;
};

Bytes encode(const ResourcesWanted& message);
Bytes encode(const HostResources& message);
template <>
Result<ResourcesWanted> decode(ByteSpan payload);
template <>
Result<HostResources> decode(ByteSpan payload);

}  // namespace dt
