#pragma once

#include "base/bytes.h"
#include "base/environment.h"
#include "base/result.h"
#include "gpu/devices/devices_in_use.h"
#include "gpu/nccl/nccl_types.h"

#include <cstdint>
#include <span>
#include <string>

namespace dt {

/// The way in which collectives on memory of devices run.
enum class DeviceCollectives : uint8_t {
  staged,     ///< by the engine, in memory of the host
  automatic,  ///< by NCCL where it can connect the devices, else staged
  nccl,       ///< by NCCL; a call fails where it cannot
  gpus,       ///< automatic for GPUs, staged for devices of the CPU
};
/// Returns the value of DTRAIN_DEVICE_COLLECTIVES, which is "staged", "auto" or "nccl". Without it,
/// `gpus`, or `staged` where ranks share GPUs. Fails with Errc::input for others.
Result<DeviceCollectives> device_collectives(const Environment& environment);

/// A rank sends it to rank 0 before NCCL connects its device with those of the others.
struct ConnectionOffer {
  bool requires_nccl = false;
  std::string failure = {};  ///< why it cannot use NCCL; empty: it can
  DevicesInUse in_use = {};
  std::string peer_place = {};  ///< empty: this rank does not sum by kernels of ours (PeerLink)
  bool operator==(const ConnectionOffer&) const = default;
};
Bytes encode(const ConnectionOffer& offer);
/// Fails with Errc::protocol for bytes that no rank sends.
Result<ConnectionOffer> decode_connection_offer(ByteSpan bytes);

/// Rank 0's decision for all ranks.
struct ConnectionVerdict {
  enum class Way : uint8_t { nccl, staged, failed };
  Way way = Way::nccl;
  std::string reason = {};  ///< of `staged` and `failed`
  NcclUniqueId id = {};     ///< of `nccl`
  bool peers = false;       ///< the ranks may make a PeerLink
  bool share = false;       ///< some of them may share a GPU
};
/// Returns the verdict on the offers of all ranks, by rank, with an empty id.
ConnectionVerdict decide(std::span<const ConnectionOffer> offers);
Bytes encode(const ConnectionVerdict& verdict);
/// Fails with Errc::protocol for bytes that rank 0 does not send.
Result<ConnectionVerdict> decode_connection_verdict(ByteSpan bytes);

}  // namespace dt
