#pragma once

#include <cstdint>
#include <vector>

namespace dt {

/// The way in which calls run that NCCL can run. The least of all ranks' wishes counts.
enum class DeviceRoute : int32_t {
  failed = -1,    ///< not at all: NCCL is required, and cannot connect the ranks
  staged = 0,     ///< by the engine; after a vote, also all later ones
  undecided = 1,  ///< by the engine; the ranks decide again about the next one
  nccl = 2,       ///< by NCCL, also all later ones
};

/// The place of a call among all that NCCL runs. The calls of a bucket run together.
struct NcclSlot {
  uint64_t bucket = 0;   ///< counts from 0
  uint32_t index = 0;    ///< of the call in its bucket
  uint32_t members = 1;  ///< calls of the bucket
  bool operator==(const NcclSlot&) const = default;
};

/// Part of a call by name that moves no data. By it, the ranks agree how they run a call, and get
/// one order of all that NCCL runs.
struct CallAgreement {
  DeviceRoute wish = DeviceRoute::undecided;
  bool of_unnamed = false;  ///< for a call without a name, which ranks that have joined make, too
  uint64_t before = 0;      ///< calls that NCCL runs before it, without a slot, on this rank
  // The engine sets these before the call succeeds:
  DeviceRoute route = DeviceRoute::undecided;  ///< of all ranks
  std::vector<NcclSlot> slots = {};            ///< if NCCL runs the call: one for each tensor
};

}  // namespace dt
