#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/training/strategy/strategy_options.h"
#include "gpu/devices/devices_in_use.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Each worker sends one to the others before a strategy begins.
struct WorkerRecord {
  std::string failure = {};  ///< why this worker cannot take part; empty: it can
  StrategyName name = StrategyName::mirrored;
  CrossDeviceRules cross_device = {{}};
  uint32_t devices = 0;
  bool on_host = true;  ///< the host can access the memory of its devices
  uint64_t bytes_per_pack = 0;
  ServerMode mode = {};
  Communication communication = Communication::automatic;
  DevicesInUse in_use = {};
  std::array<uint8_t, 16> id = {};  ///< random; that of rank 0 is the strategy's
  bool operator==(const WorkerRecord&) const = default;
};

/// The most bytes of an encoded record. Longer texts are cut, and more GPUs than 16 left out.
inline constexpr size_t worker_record_bytes_max = 3072;
Bytes encode(const WorkerRecord& record);
/// Bytes behind the record are ignored.
Result<WorkerRecord> decode_worker_record(ByteSpan bytes);

/// The records of all ranks, as far as they are known.
using WorkerRecords = std::vector<std::optional<WorkerRecord>>;
/// Fails when a rank cannot take part or differs from rank 0, and blames the first such one. Fails
/// also when the strategy cannot have so many workers. The same at every rank that knows all
/// records.
Result<> compare_records(const WorkerRecords& by_rank);
/// Returns a sentence about each rank whose libraries differ from those of rank 0. They work
/// together all the same.
std::vector<std::string> doubtful_differences(const WorkerRecords& by_rank);

}  // namespace dt
