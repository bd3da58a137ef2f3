#include "gpu/nccl/nccl_communicator.h"

#include "base/format.h"

#include <sysexits.h>
#include <unistd.h>

#include <string_view>
#include <thread>
#include <utility>

namespace dt {

namespace {

constexpr Duration end_max = seconds(10);
/// How often it is asked whether its kernels have begun.
constexpr Duration begun_interval = milliseconds(100);

/// NCCL has no event for the end of a call in progress. Most take microseconds, so the first polls
/// follow each other.
constexpr Duration busy_max = microseconds(500);
constexpr Duration poll_interval = milliseconds(1);

/// Returns a part of a buffer, which is null where this rank has none.
template <class Byte>
Byte* part_at(Byte* buffer, size_t bytes) {
  return buffer == nullptr ? nullptr : buffer + bytes;
}

}  // namespace

Result<NcclUniqueId> make_nccl_id(const NcclLibrary& nccl) {
  NcclUniqueId id;
  const NcclStatus status = nccl->get_unique_id(&id);
  if (status != NcclStatus::success) return tl::unexpected(nccl.failure("ncclGetUniqueId", status));
  return id;
}

Result<std::unique_ptr<NcclCommunicator>> NcclCommunicator::join(const NcclLibrary& nccl,
                                                                 const NcclMembership& membership,
                                                                 const NcclWait& wait) {
  std::unique_ptr<NcclCommunicator> made(new NcclCommunicator(nccl, membership));
  TRY(made->settle("ncclCommInitRankConfig", made->start_join(membership.id), wait));
  return made;
}

NcclStatus NcclCommunicator::start_join(const NcclUniqueId& id) {
  NcclConfig config;
  config.blocking = 0;
  return nccl_->comm_init(&comm_, size_, id, rank_, &config);
}

Result<std::vector<std::unique_ptr<NcclCommunicator>>> NcclCommunicator::join_together(
    const NcclLibrary& nccl, std::span<Device* const> devices, const NcclWait& wait) {
  const NcclUniqueId id = TRY(make_nccl_id(nccl));
  std::vector<std::unique_ptr<NcclCommunicator>> made;
  std::vector<Started> started;
  // Outside a group, NCCL would wait for the other ranks, or until 2.26 confuse the two joins.
  const NcclStatus begun = nccl->group_start();
  if (begun != NcclStatus::success) return tl::unexpected(nccl.failure("ncclGroupStart", begun));
  for (Device* const device : devices) {
    // NCCL takes the device that is current.
    const std::shared_ptr<void> current = device->make_current();
    const NcclMembership membership = {.rank = static_cast<int>(made.size()),
                                       .size = static_cast<int>(devices.size())};
    made.emplace_back(new NcclCommunicator(nccl, membership));
    started.push_back({made.back().get(), "ncclCommInitRankConfig", made.back()->start_join(id)});
    if (!has_started(started.back().status)) break;
  }
  // NCCL requires the end of each group.
  const NcclStatus ended = nccl->group_end();
  for (Started& one : started)
    if (has_started(one.status)) one.status = ended;
  TRY(settle(started, wait));
  return made;
}

NcclCommunicator::~NcclCommunicator() {
  if (comm_ == nullptr) return;
  if (!failed_ && !wait_for_stop(Duration::zero())) {
    end("destroyed", nccl_->comm_destroy);
  } else {
    end("aborted", nccl_->comm_abort);
  }
}

// There is no ncclCommRevoke before the abort: until 2.30 the two race within NCCL, and the abort
// ends the kernels by itself.
void NcclCommunicator::end(const char* verb, NcclStatus (*call)(NcclComm)) {
  struct Progress {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  const auto progress = std::make_shared<Progress>();
  std::thread ending([progress, call, comm = comm_] {
    call(comm);
    const std::lock_guard lock(progress->mutex);
    progress->done = true;
    progress->changed.notify_all();
  });
  const auto done = [&progress] { return progress->done; };
  std::unique_lock lock(progress->mutex);
  while (begun_ && !begun_())
    if (progress->changed.wait_for(lock, begun_interval, done)) break;
  if (progress->changed.wait_for(lock, end_max, done)) {
    lock.unlock();
    ending.join();
    return;
  }
  // Its kernels may still write to memory of the program, which so must not continue.
  const std::string text =
      format("dtrain: NCCL has not {} a communicator within 10 s; this process ends\n", verb);
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  _exit(EX_SOFTWARE);
}

Result<> NcclCommunicator::check_usable(const char* call) {
  if (const auto stopped = wait_for_stop(Duration::zero())) {
    failed_ = true;
    return tl::unexpected(*stopped);
  }
  if (!failed_) return {};
  return fail(Errc::closed, format("{}: the communicator has failed, and is unusable", call));
}

Result<> NcclCommunicator::run(std::span<const NcclCall> calls, const NcclWait& wait) {
  const NcclMemberCalls only = {this, calls};
  return run_together({&only, 1}, wait);
}

Result<> NcclCommunicator::run_together(std::span<const NcclMemberCalls> members,
                                        const NcclWait& wait) {
  size_t count = 0;
  Result<> usable;
  for (const NcclMemberCalls& member : members) {
    for (const NcclCall& call : member.calls) {
      const NcclCommunicator& self = *member.communicator;
      TRY(check(call, {.rank = self.rank_, .size = self.size_, .version = self.nccl_.version()}));
    }
    count += member.calls.size();
    if (usable && !member.calls.empty())
      usable = member.communicator->check_usable(nccl_name(member.calls.front().kind));
  }
  if (count == 0) return {};
  for (const NcclMemberCalls& member : members)
    if (!usable) member.communicator->failed_ = true;
  TRY(usable);
  std::vector<Started> calls = start_together(members);
  return settle(calls, wait);
}

/// Returns a call for each member. After a failure, its call is the first.
std::vector<NcclCommunicator::Started> NcclCommunicator::start_together(
    std::span<const NcclMemberCalls> members) {
  std::vector<Started> started;
  for (const NcclMemberCalls& member : members) {
    const bool one = member.calls.size() == 1;
    started.push_back(
        {member.communicator, one ? nccl_name(member.calls.front().kind) : "ncclGroupEnd"});
  }
  Started& first = started.front();
  const NcclFunctions& nccl = *first.communicator->nccl_.operator->();
  first.status = nccl.group_start();
  if (first.status != NcclStatus::success) {
    first.call = "ncclGroupStart";
    return started;
  }
  for (const NcclMemberCalls& member : members) {
    for (const NcclCall& call : member.calls) {
      const NcclStatus status = member.communicator->start(call);
      if (has_started(status)) continue;
      // NCCL requires the end of each group. Its status repeats the failure.
      nccl.group_end();
      std::swap(first, started[static_cast<size_t>(&member - members.data())]);
      first.call = nccl_name(call.kind);
      first.status = status;
      return started;
    }
  }
  const NcclStatus ended = nccl.group_end();
  for (Started& one : started)
    one.status = ended;
  return started;
}

Result<> NcclCommunicator::status(const NcclWait& wait) {
  static constexpr const char* name = "ncclCommGetAsyncError";
  TRY(check_usable(name));
  NcclStatus status = NcclStatus::success;
  const NcclStatus asked = nccl_->comm_async_error(comm_, &status);
  return settle(name, asked == NcclStatus::success ? status : asked, wait);
}

NcclStatus NcclCommunicator::start(const NcclCall& call) {
  const NcclFunctions& nccl = *nccl_.operator->();
  switch (call.kind) {
    case NcclCall::Kind::all_reduce:
      return nccl.all_reduce(call.from, call.to, call.count, call.type, call.op, comm_,
                             call.stream);
    case NcclCall::Kind::reduce:
      return nccl.reduce(call.from, call.to, call.count, call.type, call.op, call.peer, comm_,
                         call.stream);
    case NcclCall::Kind::broadcast:
      return nccl.broadcast(call.from, call.to, call.count, call.type, call.peer, comm_,
                            call.stream);
    case NcclCall::Kind::all_gather:
      return nccl.all_gather(call.from, call.to, call.count, call.type, comm_, call.stream);
    case NcclCall::Kind::reduce_scatter:
      return nccl.reduce_scatter(call.from, call.to, call.count, call.type, call.op, comm_,
                                 call.stream);
    case NcclCall::Kind::send:
      return nccl.send(call.from, call.count, call.type, call.peer, comm_, call.stream);
    case NcclCall::Kind::receive:
      return nccl.receive(call.to, call.count, call.type, call.peer, comm_, call.stream);
    default:
      return start_parts(call);
  }
}

NcclStatus NcclCommunicator::start_parts(const NcclCall& call) {
  const NcclFunctions& nccl = *nccl_.operator->();
  const size_t bytes = call.count * nccl_bytes(call.type);
  const auto* const from = static_cast<const std::byte*>(call.from);
  auto* const to = static_cast<std::byte*>(call.to);
  const bool root = call.kind == NcclCall::Kind::all_to_all || call.peer == rank_;
  NcclStatus status = NcclStatus::success;
  const auto note = [&status](NcclStatus one) {
    if (status == NcclStatus::success || status == NcclStatus::in_progress) status = one;
  };
  for (int peer = 0; peer < size_; ++peer) {
    const size_t at = static_cast<size_t>(peer) * bytes;
    const bool to_peer = call.kind == NcclCall::Kind::gather ? call.peer == peer : root;
    const bool from_peer = call.kind == NcclCall::Kind::scatter ? call.peer == peer : root;
    const std::byte* const part = call.kind == NcclCall::Kind::gather ? from : part_at(from, at);
    std::byte* const place = call.kind == NcclCall::Kind::scatter ? to : part_at(to, at);
    // NCCL refuses a rank's send to itself in place.
    const bool in_place = peer == rank_ && part == place;
    if (to_peer && !in_place)
      note(nccl.send(part, call.count, call.type, peer, comm_, call.stream));
    if (from_peer && !in_place)
      note(nccl.receive(place, call.count, call.type, peer, comm_, call.stream));
  }
  return status;
}

void NcclCommunicator::stop(Error why) {
  const std::lock_guard lock(mutex_);
  if (!stop_) stop_ = std::move(why);
  stopped_.notify_all();
}

Result<> NcclCommunicator::settle(const char* call, NcclStatus status, const NcclWait& wait) {
  Started started = {this, call, status};
  return settle({&started, 1}, wait);
}

Result<> NcclCommunicator::settle(std::span<Started> calls, const NcclWait& wait) {
  auto result = settled(calls, wait);
  for (const Started& one : calls)
    if (!result) one.communicator->failed_ = true;
  return result;
}

Result<> NcclCommunicator::settled(std::span<Started> calls, const NcclWait& wait) {
  const Time begun = Clock::now();
  while (true) {
    const Started* pending = nullptr;
    for (Started& one : calls) {
      TRY(poll(one));
      if (one.status == NcclStatus::in_progress) pending = &one;
    }
    if (pending == nullptr) return {};
    const Time now = Clock::now();
    if (now >= wait.deadline)
      return fail(Errc::timeout, format("{}: NCCL has not completed it in time", pending->call));
    if (now - begun < busy_max) {
      std::this_thread::yield();
      continue;
    }
    if (wait.watch) TRY(wait.watch());
    (void)pending->communicator->wait_for_stop(poll_interval);
  }
}

Result<> NcclCommunicator::poll(Started& started) {
  NcclCommunicator& self = *started.communicator;
  if (started.status == NcclStatus::in_progress) {
    NcclStatus status = NcclStatus::success;
    const NcclStatus asked = self.nccl_->comm_async_error(self.comm_, &status);
    started.status = asked == NcclStatus::success ? status : asked;
  }
  if (started.status == NcclStatus::success) return {};
  if (started.status != NcclStatus::in_progress)
    return tl::unexpected(self.nccl_.failure(started.call, started.status, self.comm_));
  if (const auto stopped = self.wait_for_stop(Duration::zero())) return tl::unexpected(*stopped);
  return {};
}

std::optional<Error> NcclCommunicator::wait_for_stop(Duration time) {
  std::unique_lock lock(mutex_);
  if (time > Duration::zero()) stopped_.wait_for(lock, time, [&] { return stop_.has_value(); });
  return stop_;
}

}  // namespace dt
