#include "comm/device/device_calls.h"

#include "base/format.h"
#include "comm/collective/operation.h"
#include "comm/device/connected_call.h"
#include "comm/device/nccl_calls.h"
#include "comm/device/staged_copies.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace dt {

namespace {

/// How long a rank that leaves waits for the others to do so.
constexpr Duration farewell_max = seconds(2);

/// True when some pointer of the call lies in memory of a device, also one that is not used.
bool names_device(const OperationRequest& call, MemoryFinder& finder) {
  const auto on_device = [&](const void* address) { return finder.find(address) != nullptr; };
  if (on_device(call.input) || on_device(call.output)) return true;
  return std::ranges::any_of(call.tensors, [&](const TensorOfList& tensor) {
    return on_device(tensor.input) || on_device(tensor.output);
  });
}

/// Checks a call as the engine does.
bool is_valid(const OperationRequest& request, CallingRank self) {
  if (request.tensors.empty()) return check_request(request, self.rank, self.size).has_value();
  return std::ranges::all_of(request.tensors, [&](const TensorOfList& tensor) {
    OperationRequest one{.kind = request.kind, .type = tensor.type, .reduce = request.reduce};
    one.count = tensor.count;
    one.input = tensor.input;
    one.output = tensor.output;
    return check_request(one, self.rank, self.size).has_value();
  });
}

/// A buffer that a call uses.
struct UsedBuffer {
  size_t tensor = 0;
  bool is_output = false;
  const std::byte* at = nullptr;
};

std::vector<UsedBuffer> used_buffers(const std::vector<BufferRanges>& ranges) {
  std::vector<UsedBuffer> buffers;
  buffers.reserve(2 * ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].input_bytes > 0) buffers.push_back({i, false, ranges[i].input});
    if (ranges[i].output_bytes > 0) buffers.push_back({i, true, ranges[i].output});
  }
  return buffers;
}

std::string name_of(const UsedBuffer& buffer, size_t tensors) {
  const std::string of = tensors == 1 ? "" : format(" of tensor {}", buffer.tensor + 1);
  return (buffer.is_output ? "the output" : "the input") + of;
}

std::string place_text(const std::optional<DevicePlace>& place) {
  return "memory of " + (place ? name_of(*place) : std::string("the host"));
}

/// Returns the device of all used buffers; none: they lie on the host. Notes the room of each.
Result<std::optional<DevicePlace>> common_place(std::vector<BufferRanges>& ranges,
                                                MemoryFinder& finder) {
  const std::vector<UsedBuffer> buffers = used_buffers(ranges);
  std::optional<DevicePlace> common;
  for (const UsedBuffer& buffer : buffers) {
    std::optional<DevicePlace> place;
    if (const PlacedMemory* const memory = finder.find(buffer.at)) {
      place = memory->place;
      BufferRanges& range = ranges[buffer.tensor];
      (buffer.is_output ? range.output_room : range.input_room) = memory->room_at(buffer.at);
    }
    if (&buffer == &buffers.front()) common = place;
    if (place == common) continue;
    return fail(Errc::input,
                format("{} lies in {}, and {} in {}; all buffers of an operation must lie in one "
                       "place",
                       name_of(buffers.front(), ranges.size()), place_text(common),
                       name_of(buffer, ranges.size()), place_text(place)));
  }
  return common;
}

Result<std::shared_ptr<Operation>> without_device(const void* stream) {
  if (stream == nullptr) return std::shared_ptr<Operation>();
  return fail(Errc::input,
              "dtrain_op_options.stream is given, but the operation has no buffer in memory of a "
              "device");
}

/// Returns the work of the caller's stream so far.
Result<EarlierWork> earlier_work(StagingDevice& device, void* stream) {
  if (stream == nullptr) return EarlierWork();
  auto found = device.device().stream_at(stream);
  if (!found)
    return fail(found.error().code,
                format("dtrain_op_options.stream: {}; the buffers lie in memory of {}",
                       found.error().message, device.device().name()));
  std::shared_ptr<DeviceEvent> done = TRY(device.take_event());
  EarlierWork earlier{.stream = stream, .done = std::move(done)};
  TRY((*found)->record(*earlier.done));
  return earlier;
}

}  // namespace

void DeviceCalls::allow_nccl(uint32_t group, NcclTerms terms) {
  const std::lock_guard lock(mutex_);
  groups_[group] = {std::move(terms)};
}

bool DeviceCalls::uses_nccl(uint32_t group) const {
  const std::lock_guard lock(mutex_);
  const auto found = groups_.find(group);
  return found != groups_.end() && found->second.connection && found->second.connection->runs();
}

void DeviceCalls::farewell() {
  const auto groups = [&] {
    const std::lock_guard lock(mutex_);
    return groups_;
  }();
  const Time deadline = Clock::now() + farewell_max;
  for (const auto& [number, group] : groups)
    if (group.connection) group.connection->farewell(deadline);
}

void DeviceCalls::disconnect() {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, group] : groups_)
    if (group.connection) group.connection->close();
  groups_.clear();
}

std::shared_ptr<NcclConnection> DeviceCalls::connection_for(
    const OperationRequest& request, CallingRank self,
    const std::shared_ptr<StagingDevice>& device) {
  if (self.size == 1 || !nccl_can_run(request)) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = groups_.find(request.group);
  if (found == groups_.end()) return nullptr;
  auto& [terms, connection] = found->second;
  const bool is_gpu = !device->device().uuid().empty();
  if (terms.wanted == DeviceCollectives::gpus && !is_gpu) return nullptr;
  if (!connection) {
    connection = NcclConnection::start({.self = self,
                                        .host = terms.host,
                                        .device = device,
                                        .requires_nccl = terms.wanted == DeviceCollectives::nccl,
                                        .environment = process_environment(),
                                        .store = terms.store});
  }
  // On another device, the ranks find the difference.
  if (&connection->device() != device.get()) return nullptr;
  // Calls by name have no order in which all ranks could stop to ask.
  const bool asks = matches_by_name(request) || connection->agreed() != DeviceRoute::staged;
  return asks ? connection : nullptr;
}

Result<std::shared_ptr<StagingDevice>> DeviceCalls::device_at(const DevicePlace& place) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(known_, [&](const Known& known) { return known.place == place; });
  if (found != known_.end()) return found->device;
  auto device = TRY(open_device_at(place));
  auto opened = TRY(StagingDevice::open(std::move(device)));
  known_.push_back({place, opened});
  return opened;
}

Result<std::shared_ptr<Operation>> DeviceCalls::stage(const OperationRequest& call,
                                                      CallingRank self) {
  MemoryFinder finder;
  if (call.stream == nullptr && !names_device(call, finder)) return std::shared_ptr<Operation>();
  if (call.kind == OperationKind::barrier) return without_device(call.stream);
  auto operation = std::make_shared<Operation>();
  operation->request = call;
  // The engine refuses such a call with the reason, and reads no buffer.
  if (!is_valid(operation->request, self)) return std::shared_ptr<Operation>();
  std::vector<BufferRanges> ranges = ranges_of(operation->request, self);
  // Other ranks may have elements, so this one ignores its stream.
  if (std::ranges::all_of(ranges, &BufferRanges::is_empty)) return std::shared_ptr<Operation>();
  const std::optional<DevicePlace> place = TRY(common_place(ranges, finder));
  if (!place) return without_device(call.stream);
  const auto device = TRY(device_at(*place));
  EarlierWork earlier = TRY(earlier_work(*device, call.stream));
  auto executed = std::make_shared<Operation>();
  executed->request = operation->request;
  if (!executed->request.terms) executed->request.terms.emplace();
  // Where counts differ, a rank without elements has no buffer, and so no place.
  if (!has_own_counts(call.kind)) executed->request.terms->memory = MemoryKind::device;
  if (!call.blocks) operation->results = device->expect_results();
  std::unique_ptr<DeviceCopies> copies;
  if (auto connection = connection_for(operation->request, self, device)) {
    copies = TRY(ConnectedCall::start({.connection = std::move(connection),
                                       .self = self,
                                       .device = device,
                                       .ready = std::move(earlier.done),
                                       .results = operation->results,
                                       .ranges = std::move(ranges),
                                       .executed = executed}));
  } else {
    copies = TRY(StagedCopies::start({.device = device,
                                      .earlier = std::move(earlier),
                                      .results = operation->results,
                                      .ranges = std::move(ranges),
                                      .executed = std::move(executed)}));
  }
  operation->staged = std::move(copies);
  return operation;
}

Result<> check_on_host(const void* address, const char* what) {
  if (address == nullptr) return {};
  const auto place = find_device_place(address);
  if (!place) return {};
  return fail(Errc::input,
              format("{} in memory of {}; give memory of the host", what, name_of(*place)));
}

}  // namespace dt
