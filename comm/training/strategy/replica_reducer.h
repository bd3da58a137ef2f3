#pragma once

#include "comm/training/strategy/replica_devices.h"
#include "comm/training/strategy/workers.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dt {

/// A tensor of one replica, which the reduction replaces.
struct ReplicaTensor {
  ElementType type = ElementType::float32;
  size_t count = 0;
  std::byte* at = nullptr;          ///< memory of the host or of the replica's device
  std::optional<size_t> only = {};  ///< the one of this process's replicas that gets the result
  size_t bytes() const { return count * element_bytes(type); }
};
using ReplicaTensors = std::vector<ReplicaTensor>;

/// Reduces tensors over all replicas: those of this process on its devices, then the workers.
///
///   replicas ── devices ▶ the first replica ── workers ▶ ── copies ▶ the other replicas
///
/// One thread at a time.
class ReplicaReducer {
 public:
  ReplicaReducer(ReplicaDevices& devices, Workers& workers, size_t bytes_per_pack)
      : devices_(devices), workers_(workers), bytes_per_pack_(bytes_per_pack) {}

  /// Connects the first devices of all workers by NCCL. A collective.
  Result<> connect_by_nccl();

  /// Each replica has the same list, but for the memory. Returns when the results are complete.
  Result<> reduce(const std::vector<ReplicaTensors*>& by_replica, ReduceOp op);

 private:
  using ByReplica = std::vector<ReplicaTensors>;
  Result<> queue(const std::vector<ReplicaTensors*>& by_replica, ReduceOp op);
  /// Returns the tensors with memory of their devices: staged where they have other memory.
  Result<ByReplica> on_devices(const std::vector<ReplicaTensors*>& given);
  Result<> copy_back(const std::vector<ReplicaTensors*>& given, const ByReplica& staged);
  Result<> reduce_on_devices(const ByReplica& tensors, ReduceOp op, bool to_first);
  Result<> reduce_by(const std::string& algorithm, const CrossDeviceTerms& terms,
                     std::span<const ReplicatedTensor> tensors);
  /// Reduces the first replica's tensors over the workers.
  Result<> reduce_over_workers(const ReplicaTensors& first, ReduceOp op);
  Result<> reduce_packs(const ReplicaTensors& first, ReduceOp op);
  Result<> divide(const ReplicaTensors& first);
  Result<> copy_to_others(const ByReplica& tensors);

  ReplicaDevices& devices_;
  Workers& workers_;
  size_t bytes_per_pack_;
  std::vector<DeviceBuffer> staging_ = {};  ///< by replica
  DeviceBuffer pack_ = {};                  ///< of the first replica's device
};

}  // namespace dt
