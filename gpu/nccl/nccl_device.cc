#include "gpu/nccl/nccl_device.h"

#include "base/format.h"

#include <vector>

namespace dt {

namespace {

/// Between two questions of a watch, while the device works.
constexpr Duration watch_interval = milliseconds(1);

}  // namespace

Result<std::unique_ptr<NcclDevice>> NcclDevice::join(const NcclLibrary& nccl,
                                                     const NcclMembership& membership,
                                                     DeviceStream& stream, const NcclWait& wait) {
  // NCCL takes the device that is current when a communicator is made.
  const std::shared_ptr<void> current = stream.device().make_current();
  std::unique_ptr<NcclDevice> made(new NcclDevice(stream));
  made->communicator_ = TRY(NcclCommunicator::join(nccl, membership, wait));
  return made;
}

Result<> NcclDevice::all_reduce(std::span<const NcclTensor> tensors, ReduceOp op,
                                const NcclWait& wait) {
  if (communicator_ == nullptr)
    return fail(Errc::closed, "the communicator of NCCL has failed, and is unusable");
  std::vector<NcclCall> calls;
  for (const NcclTensor& tensor : tensors) {
    if (tensor.count == 0) continue;
    calls.push_back({.type = nccl_type(tensor.type).value(),
                     .op = nccl_op(op).value(),
                     .count = tensor.count,
                     .from = tensor.at,
                     .to = tensor.at,
                     .stream = stream_.native()});
  }
  auto result = run(calls, wait);
  // Kernels of a failed communicator run until it is aborted.
  if (!result) communicator_.reset();
  return result;
}

Result<> NcclDevice::run(std::span<const NcclCall> calls, const NcclWait& wait) {
  const std::shared_ptr<void> current = stream_.device().make_current();
  // Without a handle, NCCL does not know the order of the stream.
  if (stream_.native() == nullptr) TRY(finish(wait));
  TRY(communicator_->run(calls, wait));
  auto finished = finish(wait);
  // A communicator that is usable is not aborted.
  if (!finished) communicator_->stop(finished.error());
  return finished;
}

Result<> NcclDevice::finish(const NcclWait& wait) {
  while (!TRY(stream_.done())) {
    if (Clock::now() >= wait.deadline)
      return fail(Errc::timeout,
                  format("{}: NCCL has not reduced in time", stream_.device().name()));
    if (wait.watch) TRY(wait.watch());
    auto done = stream_.synchronize(std::min(wait.deadline, Clock::now() + watch_interval));
    if (!done && done.error().code != Errc::timeout) return done;
  }
  return {};
}

}  // namespace dt
