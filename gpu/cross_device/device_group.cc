#include "gpu/cross_device/device_group.h"

#include "base/format.h"

#include <algorithm>
#include <cassert>

namespace dt {

namespace {

constexpr size_t slot_bytes_min = 256;  // also the alignment of slots

}  // namespace

Result<std::unique_ptr<DeviceGroup>> DeviceGroup::make(std::vector<DeviceStream*> streams,
                                                       size_t scratch_bytes) {
  assert(!streams.empty());
  std::unique_ptr<DeviceGroup> group(new DeviceGroup(std::move(streams)));
  TRY(group->make_events());
  const size_t slots = group->size() + extra_slots;
  size_t wanted = scratch_bytes / slots;
  while (true) {
    const size_t slot_bytes = std::max(wanted / slot_bytes_min, size_t{1}) * slot_bytes_min;
    const Result<> allocated = group->allocate(slot_bytes);
    if (allocated) return group;
    if (allocated.error().code != Errc::out_of_memory || slot_bytes == slot_bytes_min)
      return tl::unexpected(allocated.error());
    wanted = slot_bytes / 2;
    group->shortage_ = format("{}; reductions use {} bytes of each device, not {}, in more steps",
                              allocated.error().message,
                              wanted / slot_bytes_min * slot_bytes_min * slots, scratch_bytes);
  }
}

DeviceGroup::~DeviceGroup() {
  drain();
}

Result<> DeviceGroup::make_events() {
  for (DeviceStream* const stream : streams_) {
    auto event = TRY(stream->device().make_event());
    events_.push_back(std::move(event));
  }
  return {};
}

Result<> DeviceGroup::allocate(size_t slot_bytes) {
  scratch_.clear();
  slot_bytes_ = slot_bytes;
  for (DeviceStream* const stream : streams_) {
    DeviceBuffer scratch = TRY(stream->device().allocate((size() + extra_slots) * slot_bytes));
    scratch_.push_back(std::move(scratch));
  }
  return {};
}

Result<> DeviceGroup::order(const StreamOrder& order) {
  if (order.before == order.after) return {};
  DeviceEvent& event = *events_[order.before];
  TRY(stream(order.before).record(event));
  return stream(order.after).wait(event);
}

bool DeviceGroup::can_read(const PeerRange& range) const {
  const Device& reader = device(range.reader);
  const Device& owner = device(range.owner);
  if (range.access == KernelAccess::own_device) return reader.index() == owner.index();
  return reader.can_access(owner);
}

Result<> DeviceGroup::order_all() {
  for (size_t i = 0; i < size(); ++i)
    TRY(stream(i).record(*events_[i]));
  // All points are recorded before the first wait: no part waits for another one.
  for (size_t i = 0; i < size(); ++i) {
    for (size_t j = 0; j < size(); ++j)
      if (i != j) TRY(stream(j).wait(*events_[i]));
  }
  return {};
}

Result<const std::byte*> DeviceGroup::readable(const PeerRange& range, std::byte* slot) {
  if (can_read(range)) return range.at;
  assert(range.bytes <= slot_bytes_);
  TRY(stream(range.reader).copy({slot, range.at, range.bytes}));
  return slot;
}

void DeviceGroup::drain() {
  static_cast<void>(synchronize(Clock::now() + last_wait));
}

Result<> DeviceGroup::synchronize(Time deadline) {
  Result<> first;
  for (DeviceStream* const stream : streams_) {
    Result<> result = stream->synchronize(deadline);
    if (first && !result) first = std::move(result);
  }
  return first;
}

}  // namespace dt
