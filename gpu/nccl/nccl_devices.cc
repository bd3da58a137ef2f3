#include "gpu/nccl/nccl_devices.h"

#include "base/format.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// Between two questions whether a device has failed.
constexpr Duration ask_interval = milliseconds(1);

}  // namespace

Result<std::unique_ptr<NcclDevices>> NcclDevices::join(const NcclLibrary& nccl,
                                                       std::vector<DeviceStream*> streams,
                                                       const NcclWait& wait) {
  std::unique_ptr<NcclDevices> made(new NcclDevices(std::move(streams)));
  std::vector<Device*> devices;
  for (const DeviceStream* const stream : made->streams_)
    devices.push_back(&stream->device());
  made->communicators_ = TRY(NcclCommunicator::join_together(nccl, devices, wait));
  return made;
}

Result<> NcclDevices::all_reduce(const NcclArrays& arrays, NcclOp op, const NcclWait& wait) {
  if (communicators_.empty())
    return fail(Errc::closed, format("NCCL has failed before: {}", failure_->message));
  Result<> result = run(arrays, op, wait);
  if (!result) return abandon(std::move(result).error());
  return {};
}

/// Aborts all communicators: kernels of a failed one run until then.
tl::unexpected<Error> NcclDevices::abandon(Error why) {
  for (const auto& communicator : communicators_)
    communicator->stop(why);
  communicators_.clear();
  if (!failure_) failure_ = why;
  return tl::unexpected(std::move(why));
}

Result<> NcclDevices::finish(const NcclWait& wait) {
  while (true) {
    Result<DeviceStream*> at_work = first_at_work();
    if (!at_work) return abandon(std::move(at_work).error());
    if (*at_work == nullptr) return {};
    for (const auto& communicator : communicators_) {
      Result<> status = communicator->status(wait);
      if (!status) return abandon(std::move(status).error());
    }
    if (Clock::now() >= wait.deadline)
      return abandon({Errc::timeout, "NCCL and the devices have not ended their work in time"});
    // first_at_work() returns a failure, too.
    (void)(*at_work)->synchronize(std::min(wait.deadline, Clock::now() + ask_interval));
  }
}

/// Returns null when all work has run. Fails when any device has failed.
Result<DeviceStream*> NcclDevices::first_at_work() {
  DeviceStream* first = nullptr;
  for (DeviceStream* const stream : streams_) {
    const bool done = TRY(stream->done());
    if (!done && first == nullptr) first = stream;
  }
  return first;
}

Result<> NcclDevices::run(const NcclArrays& arrays, NcclOp op, const NcclWait& wait) {
  std::vector<NcclCall> calls;
  for (size_t i = 0; i < streams_.size(); ++i) {
    // Without a handle, NCCL does not know the order of the stream.
    if (streams_[i]->native() == nullptr) TRY(streams_[i]->synchronize(wait.deadline));
    calls.push_back({.type = nccl_type(arrays.type).value(),
                     .op = op,
                     .count = arrays.count,
                     .from = arrays.inputs[i],
                     .to = arrays.outputs[i],
                     .stream = streams_[i]->native()});
  }
  std::vector<NcclMemberCalls> members;
  for (size_t i = 0; i < streams_.size(); ++i)
    members.push_back({communicators_[i].get(), {&calls[i], 1}});
  // NCCL may leave another device current.
  const std::shared_ptr<void> current = streams_[0]->device().make_current();
  return NcclCommunicator::run_together(members, wait);
}

}  // namespace dt
