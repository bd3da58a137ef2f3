#include "comm/training/strategy/replica_devices.h"

#include "base/format.h"
#include "base/text.h"
#include "gpu/cuda/open_cuda.h"
#include "gpu/devices/device_names.h"
#include "gpu/devices/open_devices.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

namespace dt {
namespace {

/// Only a device that hangs reaches it.
constexpr Duration device_work_max = seconds(600);
/// NCCL needs seconds to connect the GPUs of a host.
constexpr Duration connect_max = seconds(120);
/// The part of limited memory that reductions may use.
constexpr size_t scratch_parts = 4;

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Result<FoundDevices> chosen_devices(const StrategyOptions& options, const DeviceList& devices) {
  if (!options.devices.empty() && plain_device_name(trim(options.devices)) != "cpu") {
    FoundDevices chosen = TRY(find_devices(options.devices, devices,
                                           {.self = options.self, .soft = options.soft_placement}));
    if (options.name != StrategyName::one_device || chosen.places.size() == 1) return chosen;
    return fail(Errc::input, format("one_device has one device, and \"{}\" names {}",
                                    options.devices, chosen.places.size()));
  }
  const size_t count = options.name == StrategyName::one_device ? 1 : devices.size();
  FoundDevices chosen = {.places = std::vector<size_t>(count)};
  for (size_t i = 0; i < count; ++i)
    chosen.places[i] = i;
  return chosen;
}

}  // namespace

Result<std::unique_ptr<ReplicaDevices>> ReplicaDevices::open(const StrategyOptions& options,
                                                             const Environment& environment) {
  std::unique_ptr<ReplicaDevices> made(new ReplicaDevices());
  const bool on_cpu = names_only_cpus(options.devices, options.self);
  made->all_ = TRY(on_cpu ? open_only_cpus(environment) : open_devices_or_cpu(environment));
  FoundDevices chosen = TRY(chosen_devices(options, made->all_));
  made->fallbacks_ = std::move(chosen.fallbacks);
  made->memory_max_ = options.device_memory;
  for (const size_t place : chosen.places) {
    made->devices_.push_back(made->all_[place].get());
    auto stream = TRY(made->devices_.back()->make_stream());
    made->streams_.push_back(std::move(stream));
    made->used_.push_back(std::make_unique<UsedBytes>(0));
  }
  if (options.communication == Communication::nccl) TRY(made->open_nccl(environment));
  TRY(made->make_group(options));
  const bool wants_nccl = std::ranges::any_of(made->rules_, [](const CrossDeviceRule& rule) {
    return rule.name.kind == CrossDeviceName::Kind::nccl_all_reduce;
  });
  if (wants_nccl && made->count() > 1) TRY(made->open_nccl_between(environment));
  return made;
}

Result<> ReplicaDevices::open_nccl(const Environment& environment) {
  auto opened = open_nccl_for(device(0), environment);
  if (!opened && opened.error().code == Errc::input) {
    return fail(Errc::input,
                format("the communication nccl needs GPUs, and this worker computes on "
                       "{}; use ring or auto",
                       device(0).name()));
  }
  nccl_ = TRY(std::move(opened));
  return {};
}

DevicesInUse ReplicaDevices::in_use(const Environment& environment) const {
  DevicesInUse found = {.host = host_name()};
  found.may_share = may_share_gpus(environment);
  for (const Device* const one : devices_) {
    std::string uuid = one->uuid();
    if (!uuid.empty()) found.uuids.push_back(std::move(uuid));
  }
  if (!nccl_) return found;
  found.nccl_version = nccl_->version();
  found.nccl_path = nccl_->path();
  found.driver_version = cuda_driver_version();
  return found;
}

Result<> ReplicaDevices::make_group(const StrategyOptions& options) {
  std::vector<DeviceStream*> streams;
  for (const auto& stream : streams_)
    streams.push_back(stream.get());
  size_t scratch = DeviceGroup::default_scratch_bytes;
  if (memory_max_ > 0) scratch = std::min(scratch, memory_max_ / scratch_parts);
  // One replica is never copied, so it needs no scratch memory.
  if (count() == 1) scratch = 0;
  group_ = TRY(DeviceGroup::make(streams, scratch));
  if (!group_->shortage().empty()) fallbacks_.push_back(group_->shortage());
  for (const auto& used : used_)
    *used = scratch;
  rules_ = options.cross_device;
  for (const CrossDeviceRule& rule : rules_) {
    // A registered algorithm has the default name: some tensors are reduced on one device.
    auto operation = TRY(CrossDeviceOperation::make(*group_, rule.name));
    operations_.push_back(std::move(operation));
  }
  return {};
}

Result<> ReplicaDevices::open_nccl_between(const Environment& environment) {
  auto opened = open_nccl_for(device(0), environment);
  if (!opened && opened.error().code == Errc::input) {
    return fail(Errc::input, format("NcclAllReduce needs GPUs, and this process computes on {}; "
                                    "use AllReduce",
                                    device(0).name()));
  }
  nccl_between_ = TRY(std::move(opened));
  return {};
}

Result<> ReplicaDevices::connect(int timeout_ms) {
  if (!nccl_between_) return {};
  std::vector<DeviceStream*> streams;
  for (const auto& stream : streams_)
    streams.push_back(stream.get());
  const Duration limit =
      timeout_ms > 0 ? std::min<Duration>(connect_max, milliseconds(timeout_ms)) : connect_max;
  auto joined = NcclDevices::join(*nccl_between_, streams, {.deadline = Clock::now() + limit});
  if (!joined)
    return tl::unexpected(std::move(joined).error().during(
        format("NCCL cannot connect the {} devices of this process", count())));
  by_nccl_ = *std::move(joined);
  for (const auto& operation : operations_)
    operation->use(*by_nccl_);
  return {};
}

Result<DeviceBuffer> ReplicaDevices::allocate(size_t replica, size_t bytes) const {
  if (memory_max_ == 0 || bytes == 0) return device(replica).allocate(bytes);
  UsedBytes& used = *used_[replica];
  const size_t before = used.fetch_add(bytes);
  const auto give_back = [&used, bytes] { used.fetch_sub(bytes); };
  if (bytes > memory_max_ || before > memory_max_ - bytes) {
    give_back();
    return fail(Errc::out_of_memory,
                format("the strategy may have {} bytes on {}, has {}, and needs {} more; see "
                       "--device-memory",
                       memory_max_, device(replica).name(), before, bytes));
  }
  auto allocated = device(replica).allocate(bytes);
  if (!allocated) {
    give_back();
    return allocated;
  }
  const auto inner = std::make_shared<DeviceBuffer>(*std::move(allocated));
  std::byte* const at = inner->at();
  const std::shared_ptr<void> owner(at, [inner, give_back](void*) mutable {
    *inner = DeviceBuffer();
    give_back();
  });
  return DeviceBuffer(owner, at, inner->bytes());
}

Result<> ReplicaDevices::copy(size_t replica, const MemoryCopy& copy) const {
  if (copy.bytes == 0) return {};
  TRY(stream(replica).copy(copy));
  return stream(replica).synchronize(Clock::now() + device_work_max);
}

Result<> ReplicaDevices::synchronize() const {
  const Time deadline = Clock::now() + device_work_max;
  Result<> ended = by_nccl_ ? by_nccl_->finish({.deadline = deadline}) : Result<>();
  if (ended) return group_->synchronize(deadline);
  // Copies behind NCCL's work may use the caller's memory.
  group_->drain();
  return ended;
}

std::optional<size_t> ReplicaDevices::find(std::string_view name) const {
  for (size_t i = 0; i < count(); ++i) {
    if (names_device(name, device(i))) return i;
  }
  return std::nullopt;
}

}  // namespace dt
