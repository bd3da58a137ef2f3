#include "gpu/cpu/cpu_stream.h"

#include "base/format.h"
#include "base/io/blocked_signals.h"
#include "gpu/kernels/copy_on_host.h"
#include "gpu/kernels/peer_sum_on_host.h"

#include <csignal>
#include <cstring>
#include <system_error>

namespace dt {

namespace {

Result<CpuAccesses> accesses_of(const ArrayReduction& reduction, CpuAccesses accesses) {
  TRY(check(reduction));
  for (size_t i = 0; i < reduction.sources.size(); ++i) {
    TRY(accesses.add_for_kernel({reduction.sources[i], reduction.array_bytes(), "source", i}));
  }
  TRY(accesses.add_for_kernel({reduction.into, reduction.array_bytes(), "the result"}));
  for (size_t i = 0; i < reduction.also.size(); ++i) {
    TRY(accesses.add_for_kernel(
        {reduction.also[i], reduction.array_bytes(), "other place of the result", i}));
  }
  return accesses;
}

Result<CpuAccesses> accesses_of(const CopyBatch& batch, CpuAccesses accesses) {
  TRY(check(batch));
  for (size_t i = 0; i < batch.pieces.size(); ++i) {
    const CopyPiece& piece = batch.pieces[i];
    TRY(accesses.add_for_kernel(
        {piece.from, piece.count * format_bytes(batch.from), "the source of piece", i}));
    TRY(accesses.add_for_kernel(
        {piece.to, piece.count * format_bytes(batch.to), "the destination of piece", i}));
  }
  const auto* const skip = reinterpret_cast<const std::byte*>(batch.skip);
  TRY(accesses.add_for_kernel({skip, skip == nullptr ? 0 : sizeof *batch.skip, "the flag"}));
  return accesses;
}

/// Checks the memory of this rank only, as the others may be other processes.
Result<CpuAccesses> accesses_of(ElementType type, const PeerAllReduce& call, CpuAccesses accesses) {
  if (!peers_can_sum(type)) return fail(Errc::unsupported, "there is no kernel for the type");
  const size_t bytes = call.count * element_bytes(type);
  TRY(accesses.add_for_kernel({call.from, bytes, "the source"}));
  TRY(accesses.add_for_kernel({call.to, bytes, "the result"}));
  TRY(accesses.add_for_kernel({call.input, bytes, "the memory for peers"}));
  const auto* const stop = reinterpret_cast<const std::byte*>(call.place.stop);
  const size_t stop_bytes = stop == nullptr ? 0 : sizeof *call.place.stop;
  TRY(accesses.add_for_kernel({stop, stop_bytes, "the word of the host"}));
  return accesses;
}

}  // namespace

Result<std::unique_ptr<DeviceStream>> CpuStream::start(Device& device,
                                                       const std::shared_ptr<CpuWorld>& world) {
  std::unique_ptr<CpuStream> stream(new CpuStream(device, world));
  TRY(stream->start_thread());
  return std::unique_ptr<DeviceStream>(std::move(stream));
}

Result<> CpuStream::start_thread() {
  // The application's signals must not be delivered to this thread.
  const BlockedSignals blocked;
  Result<> started;
  try {
    thread_ = std::thread([this] { run_all(); });
  } catch (const std::system_error& error) {
    started = fail(Errc::os, format("{}: cannot start the thread of a stream: {}", device_.name(),
                                    error.code().message()));
  }
  if (started) world_->add_stream(this);
  return started;
}

CpuStream::~CpuStream() {
  world_->remove_stream(this);
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

Result<> CpuStream::begin(DeviceCall call) const {
  TRY(world_->status(index_));
  auto probed = world_->probe({.device = index_, .call = call});
  if (!probed) return refuse(call, std::move(probed).error());
  return {};
}

tl::unexpected<Error> CpuStream::refuse(DeviceCall call, Error why) const {
  return tl::unexpected(
      std::move(why).during(format("{}: {}", CpuWorld::name_of_device(index_), name_of(call))));
}

void CpuStream::enqueue(StreamCommand command) {
  ++submitted_;
  queue_.push(std::move(command));
}

Result<DeviceBuffer> CpuStream::allocate(size_t bytes) {
  TRY(begin(DeviceCall::allocate_on_stream));
  return allocate_buffer(world_, {.device = index_, .bytes = bytes});
}

Result<> CpuStream::copy(const MemoryCopy& copy) {
  TRY(begin(DeviceCall::copy));
  CpuAccesses accesses(*world_, index_);
  auto checked = accesses.add_copied({copy.to, copy.bytes, "the destination"});
  if (checked) checked = accesses.add_copied({copy.from, copy.bytes, "the source"});
  if (checked && copy.overlaps()) checked = fail(Errc::input, "the ranges overlap");
  if (!checked) return refuse(DeviceCall::copy, std::move(checked).error());
  enqueue({.call = DeviceCall::copy, .run = [accesses, copy]() -> Result<> {
             TRY(accesses.still_valid());
             if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
             return {};
           }});
  return {};
}

Result<> CpuStream::copy_pieces(const CopyBatch& batch) {
  TRY(begin(DeviceCall::copy));
  auto accesses = accesses_of(batch, CpuAccesses(*world_, index_));
  if (!accesses) return refuse(DeviceCall::copy, std::move(accesses).error());
  enqueue({.call = DeviceCall::copy, .run = [accesses = *std::move(accesses), batch]() -> Result<> {
             TRY(accesses.still_valid());
             copy_on_host(batch);
             return {};
           }});
  return {};
}

Result<> CpuStream::fill(std::byte* to, std::byte value, size_t bytes) {
  TRY(begin(DeviceCall::fill));
  CpuAccesses accesses(*world_, index_);
  auto checked = accesses.add_for_kernel({to, bytes, "the destination"});
  if (!checked) return refuse(DeviceCall::fill, std::move(checked).error());
  enqueue({.call = DeviceCall::fill, .run = [accesses, to, value, bytes]() -> Result<> {
             TRY(accesses.still_valid());
             if (bytes > 0) std::memset(to, static_cast<int>(value), bytes);
             return {};
           }});
  return {};
}

Result<> CpuStream::reduce(const ArrayReduction& reduction) {
  TRY(begin(DeviceCall::reduce));
  auto accesses = accesses_of(reduction, CpuAccesses(*world_, index_));
  if (!accesses) return refuse(DeviceCall::reduce, std::move(accesses).error());
  enqueue({.call = DeviceCall::reduce,
           .run = [accesses = *std::move(accesses), reduction]() -> Result<> {
             TRY(accesses.still_valid());
             reduce_arrays(reduction);
             return {};
           }});
  return {};
}

Result<> CpuStream::sum_peers(ElementType type, const PeerAllReduce& call) {
  TRY(begin(DeviceCall::sum_peers));
  auto accesses = accesses_of(type, call, CpuAccesses(*world_, index_));
  if (!accesses) return refuse(DeviceCall::sum_peers, std::move(accesses).error());
  enqueue({.call = DeviceCall::sum_peers,
           .run = [accesses = *std::move(accesses), type, call]() -> Result<> {
             TRY(accesses.still_valid());
             sum_peers_on_host(type, call);
             return {};
           }});
  return {};
}

/// Keeps a number for the work that needs it, as CUDA does: there, freeing pinned memory waits for
/// the device.
CpuMemory::Allocation CpuStream::memory_of(const uint32_t* number) const {
  return world_->memory().find(reinterpret_cast<const std::byte*>(number));
}

Result<> CpuStream::write_value(uint32_t* at, uint32_t value) {
  TRY(begin(DeviceCall::write_value));
  enqueue({.call = DeviceCall::write_value, .run = [kept = memory_of(at), at, value]() -> Result<> {
             SystemOrder::release(at, value);
             wake_after_release(at);
             return {};
           }});
  return {};
}

Result<> CpuStream::wait_value(const uint32_t* at, uint32_t value) {
  TRY(begin(DeviceCall::wait_value));
  enqueue({.call = DeviceCall::wait_value,
           .run = [this, kept = memory_of(at), at, value]() -> Result<> {
             uint32_t seen = SystemOrder::acquire(at);
             // No work of a device that has failed can set the number.
             for (uint32_t polls = 1; !peer_reached(seen, value) && world_->status(index_);
                  ++polls) {
               pause_after_poll(at, seen, polls);
               seen = SystemOrder::acquire(at);
             }
             return {};
           }});
  return {};
}

Result<> CpuStream::run_on_host(std::function<void()> function) {
  TRY(begin(DeviceCall::run_on_host));
  enqueue({.call = DeviceCall::run_on_host, .run = [function = std::move(function)]() -> Result<> {
             function();
             return {};
           }});
  return {};
}

Result<> CpuStream::record(DeviceEvent& event) {
  TRY(begin(DeviceCall::record));
  auto* const mine = dynamic_cast<CpuEvent*>(&event);
  if (mine == nullptr || mine->device() != index_)
    return refuse(DeviceCall::record, {Errc::input, "the event belongs to another device"});
  enqueue({.call = DeviceCall::record,
           .run = [] { return Result<>(); },
           .afterwards = [point = mine->start_record()] { point->advance(); }});
  return {};
}

Result<> CpuStream::wait(const DeviceEvent& event) {
  TRY(begin(DeviceCall::wait));
  const auto* const mine = dynamic_cast<const CpuEvent*>(&event);
  if (mine == nullptr)
    return refuse(DeviceCall::wait, {Errc::input, "the event belongs to another kind of device"});
  if (mine->point() == nullptr) return {};
  // The record is queued already, so it will be reached.
  enqueue({.call = DeviceCall::wait, .run = [point = mine->point()]() -> Result<> {
             point->wait(1);
             return {};
           }});
  return {};
}

Result<bool> CpuStream::done() const {
  const bool done = finished_.count() >= submitted_;
  TRY(world_->status(index_));
  return done;
}

Result<> CpuStream::synchronize(Time deadline) {
  auto probed = world_->probe({.device = index_, .call = DeviceCall::synchronize});
  if (!finished_.wait(submitted_, deadline)) {
    return refuse(DeviceCall::synchronize, {Errc::timeout, format("{} calls have not run in time",
                                                                  submitted_ - finished_.count())});
  }
  // An injected fault comes after the wait, so that callers can free memory even then.
  if (!probed) return refuse(DeviceCall::synchronize, std::move(probed).error());
  world_->fail_overrun(index_, world_->memory().find_overrun(index_));
  return world_->status(index_);
}

void CpuStream::run_all() {
  while (const auto command = queue_.pop()) {
    run(*command);
    if (command->afterwards) command->afterwards();
    finished_.advance();
  }
}

void CpuStream::run(const StreamCommand& command) {
  if (!world_->status(index_)) return;
  auto result = world_->probe({.device = index_, .call = command.call, .runs = true});
  if (result) result = command.run();
  if (!result) world_->fail_device(index_, name_of(command.call), result.error());
}

}  // namespace dt
