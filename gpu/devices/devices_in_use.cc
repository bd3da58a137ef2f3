#include "gpu/devices/devices_in_use.h"

#include "base/format.h"
#include "base/text.h"
#include "gpu/nccl/nccl_library.h"
#include "gpu/no_gpu.h"

#include <algorithm>
#include <string_view>

namespace dt {

namespace {

constexpr size_t host_bytes_max = 64;
constexpr size_t path_bytes_max = 300;
constexpr size_t gpus_max = 16;
constexpr size_t uuid_bytes_max = 48;

std::string_view cut(std::string_view text, size_t bytes) {
  return text.substr(0, bytes);
}

std::string rank_text(const RankDevices& one) {
  return one.devices->host.empty() ? format("rank {}", one.rank)
                                   : format("rank {} ({})", one.rank, printable(one.devices->host));
}

std::string nccl_text(const DevicesInUse& devices) {
  return format("NCCL {} ({})", nccl_version_text(devices.nccl_version),
                printable(devices.nccl_path, 300));
}

bool both_use_nccl(const DevicesInUse& a, const DevicesInUse& b) {
  return a.nccl_version != 0 && b.nccl_version != 0;
}

}  // namespace

bool may_share_gpus(const Environment& environment) {
  const auto share = environment.find("DTRAIN_GPU_SHARE");
  return share != environment.end() && share->second == "1";
}

void encode(const DevicesInUse& devices, Writer& writer) {
  const size_t count = std::min(devices.uuids.size(), gpus_max);
  writer.text(cut(devices.host, host_bytes_max))
      .number(devices.may_share)
      .number(devices.nccl_version)
      .text(cut(devices.nccl_path, path_bytes_max))
      .number(devices.driver_version)
      .number(static_cast<uint8_t>(count));
  for (size_t i = 0; i < count; ++i)
    writer.text(cut(devices.uuids[i], uuid_bytes_max));
}

DevicesInUse decode_devices_in_use(Reader& reader) {
  DevicesInUse devices;
  devices.host = reader.text();
  devices.may_share = reader.number<bool>();
  devices.nccl_version = reader.number<int>();
  devices.nccl_path = reader.text();
  devices.driver_version = reader.number<int>();
  const auto count = reader.number<uint8_t>();
  for (size_t i = 0; i < count && reader.ok(); ++i)
    devices.uuids.emplace_back(reader.text());
  return devices;
}

std::optional<std::string> find_conflict(const RankDevices& first, const RankDevices& second) {
  const DevicesInUse& a = *first.devices;
  const DevicesInUse& b = *second.devices;
  const bool may_share = a.may_share && b.may_share;
  for (const std::string& uuid : a.uuids) {
    if (may_share || std::ranges::count(b.uuids, uuid) == 0) continue;
    return format(
        "{} and {} use one GPU, {}: give each rank its own by --gpu-bind rank, start at "
        "most as many as there are GPUs, or test with --gpu-share",
        rank_text(first), rank_text(second), printable(uuid));
  }
  if (!both_use_nccl(a, b) || a.nccl_version == b.nccl_version) return std::nullopt;
  return format(
      "{} has {}, but {} {}; NCCL needs one version on all ranks, and DTRAIN_NCCL_LIB "
      "chooses its file",
      rank_text(second), nccl_text(b), rank_text(first), nccl_text(a));
}

std::string doubtful_difference(const RankDevices& first, const RankDevices& second) {
  const DevicesInUse& a = *first.devices;
  const DevicesInUse& b = *second.devices;
  if (!both_use_nccl(a, b)) return {};
  if (a.nccl_path != b.nccl_path) {
    return format("{} has {}, and {} {}", rank_text(second), nccl_text(b), rank_text(first),
                  nccl_text(a));
  }
  if (a.driver_version == b.driver_version) return {};
  return format("the driver of {} supports CUDA {}, and that of {} CUDA {}", rank_text(second),
                cuda_version_text(b.driver_version), rank_text(first),
                cuda_version_text(a.driver_version));
}

}  // namespace dt
