#pragma once

#include "base/bytes.h"
#include "base/environment.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The GPUs of a process, and the libraries by which it uses them. Processes compare theirs before
/// NCCL connects them.
struct DevicesInUse {
  std::string host = {};                ///< for messages
  std::vector<std::string> uuids = {};  ///< of its GPUs; empty for other devices
  bool may_share = false;               ///< other processes may use the same GPUs (--gpu-share)
  int nccl_version = 0;                 ///< 22809; 0: it does not use NCCL
  std::string nccl_path = {};
  int driver_version = 0;  ///< of CUDA, that the driver supports: 13000; 0: not known
  bool operator==(const DevicesInUse&) const = default;
};

/// True when ranks share GPUs: `dtrain run --gpu-share` sets DTRAIN_GPU_SHARE.
bool may_share_gpus(const Environment& environment);

/// The most bytes of an encoded DevicesInUse. Longer texts are cut, and more GPUs than 16 left out.
inline constexpr size_t devices_in_use_bytes_max = 1280;
void encode(const DevicesInUse& devices, Writer& writer);
/// Makes the reader bad when bytes are missing.
DevicesInUse decode_devices_in_use(Reader& reader);

/// A process by its rank.
struct RankDevices {
  int rank = 0;
  const DevicesInUse* devices = nullptr;
};

/// Returns why both processes cannot train together: a GPU that both have, or different versions of
/// NCCL. None: they can.
std::optional<std::string> find_conflict(const RankDevices& first, const RankDevices& second);

/// Returns what both can have, but should know when they fail or are slow. This is NCCL from
/// different files, and drivers of different versions. Empty: nothing.
std::string doubtful_difference(const RankDevices& first, const RankDevices& second);

}  // namespace dt
