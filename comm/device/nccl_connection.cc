#include "comm/device/nccl_connection.h"

#include "base/format.h"
#include "base/io/blocked_signals.h"
#include "base/io/log.h"
#include "comm/named/name_coordinator.h"
#include "gpu/cuda/open_cuda.h"

#include <system_error>
#include <utility>

namespace dt {

namespace {

using Way = NcclConnection::Way;

/// Joining takes seconds on many hosts.
constexpr Duration join_max = seconds(120);
/// How soon a failure of NCCL is noticed while its kernels run, and its thread has nothing to do.
constexpr Duration check_every = milliseconds(100);
/// How long a wait for the device lasts before it is checked whether the job still runs.
constexpr Duration watch_every = milliseconds(1);

/// Enough for the calls that the engine puts into one bucket.
constexpr size_t plan_memory_bytes = bucket_bytes_max;

constexpr std::string_view finalized = "the context has been finalized";

void warn_of_staging(const std::string& why) {
  Log(Log::Level::normal, write_to_stderr)
      .warn("collectives on memory of GPUs pass through the host, without NCCL: {}", why);
}

std::string place_for_peers(const Environment& environment) {
  const auto wanted = peer_bytes_max(environment);
  return !wanted || *wanted == size_t{0} ? std::string() : peer_place();
}

}  // namespace

NcclConnection::NcclConnection(Terms terms)
    : terms_(std::move(terms)), memory_(terms_.device->device(), plan_memory_bytes) {
}

std::shared_ptr<NcclConnection> NcclConnection::start(Terms terms) {
  std::shared_ptr<NcclConnection> made(new NcclConnection(std::move(terms)));
  const BlockedSignals blocked;
  try {
    made->thread_ = std::thread([connection = made.get()] { connection->run(); });
  } catch (const std::system_error& error) {
    made->stop({Errc::os, format("a thread for NCCL cannot be started: {}", error.what())});
  }
  return made;
}

void NcclConnection::farewell(Time deadline) {
  if (!runs() || way() != Way::nccl) return;
  const Result<bool> all =
      ConnectionMeeting(terms_.self, terms_.store).leave(all_leave_, close_peers(), deadline);
  const std::lock_guard lock(mutex_);
  if (all && *all && peers_) peers_->note_all_closed();
}

/// Closes the memory of the others. Returns false where kernels of this rank may use it.
bool NcclConnection::close_peers() {
  const std::lock_guard lock(mutex_);
  const auto works = [this] { return peers_ ? peers_->status() : Result<>(); };
  if (!tasks_.note_ends(works) || !tasks_.none_left()) return false;
  if (peers_) peers_->close();
  return true;
}

void NcclConnection::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    // Joining may last.
    if (way_ == Way::undecided && !stop_) {
      stop_ = Error{Errc::closed, std::string(finalized)};
      if (communicator_) communicator_->stop(*stop_);
    }
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  memory_.clear();
}

Way NcclConnection::way() const {
  const std::lock_guard lock(mutex_);
  return stop_ ? Way::failed : way_;
}

DeviceRoute NcclConnection::wish() const {
  if (runs()) return DeviceRoute::nccl;
  switch (way()) {
    case Way::nccl:
      return DeviceRoute::nccl;
    case Way::undecided:
      return DeviceRoute::undecided;
    case Way::staged:
      return DeviceRoute::staged;
    case Way::failed:
      break;
  }
  return terms_.requires_nccl ? DeviceRoute::failed : DeviceRoute::staged;
}

Error NcclConnection::reason() const {
  const std::lock_guard lock(mutex_);
  return stop_ ? *stop_ : Error{Errc::unsupported, staged_because_};
}

void NcclConnection::run() {
  Result<ConnectionVerdict> verdict = connect();
  if (!verdict) {
    const Error& why = verdict.error();
    if (terms_.self.rank == 0 && !terms_.requires_nccl && why.code != Errc::closed)
      warn_of_staging(why.message);
    stop(std::move(verdict).error());
  } else if (verdict->way == ConnectionVerdict::Way::failed) {
    stop({Errc::unsupported, std::move(verdict->reason)});
  } else if (verdict->way == ConnectionVerdict::Way::staged) {
    if (terms_.self.rank == 0) warn_of_staging(verdict->reason);
    const std::lock_guard lock(mutex_);
    staged_because_ = std::move(verdict->reason);
    way_ = Way::staged;
    return;
  } else if (communicator_ == nullptr) {
    stop({Errc::protocol, "the other ranks have joined a communicator of NCCL without this one"});
  } else {
    {
      const std::lock_guard lock(mutex_);
      if (!stop_) way_ = Way::nccl;
    }
    serve();
  }
  fail_all();
}

Result<ConnectionVerdict> NcclConnection::connect() {
  const ConnectionMeeting meeting(terms_.self, terms_.store);
  ConnectionVerdict verdict =
      TRY(meeting.decide("offer", make_offer(), [this] { return make_nccl_id(*library_); }));
  if (verdict.way != ConnectionVerdict::Way::nccl) return verdict;
  all_leave_ = key_of("all leave", verdict.id);
  ConnectionOffer joined = {.requires_nccl = terms_.requires_nccl};
  if (const Result<> result = join(verdict.id, meeting); !result) {
    const Error& why = result.error();
    // That rank's offer has the reason.
    const bool heard = why.code == Errc::peer_lost && meeting.has_failed(verdict.id);
    if (!heard) joined.failure = why.message;
    if (!heard && why.code != Errc::closed) meeting.report_failure(verdict.id);
  }
  auto last = meeting.decide("joined", joined);
  if (last && last->way == ConnectionVerdict::Way::nccl && verdict.peers) {
    if (auto linked = link_peers(verdict); !linked)
      last = tl::unexpected(std::move(linked).error());
  }
  if (!last || last->way != ConnectionVerdict::Way::nccl) leave();
  return last;
}

Result<> NcclConnection::link_peers(const ConnectionVerdict& verdict) {
  const std::optional<size_t> bytes_max = TRY(peer_bytes_max(terms_.environment));
  const std::shared_ptr<void> current = terms_.device->device().make_current();
  auto link =
      TRY(PeerLink::connect({.self = terms_.self,
                             .stream = stream_.get(),
                             .free = &plan_memory_,
                             .store = terms_.store,
                             .meeting = verdict.share ? PeerMeeting::streams : PeerMeeting::kernels,
                             .bytes_max = bytes_max,
                             .finish = [this](const auto& watch) { return finish_stream(watch); },
                             .nccl = [this](const NcclCall& call) { return run_by_nccl(call); },
                             .abandon = [this](const Error& why) { abandon(why); }}));
  const std::lock_guard lock(mutex_);
  peers_ = std::move(link);
  return {};
}

/// Aborts NCCL's kernels, which may wait for a rank that has ended.
void NcclConnection::abandon(const Error& why) {
  stop(why);
  leave();
}

/// Ends the communicator, and with it NCCL's kernels.
void NcclConnection::leave() {
  std::unique_ptr<NcclCommunicator> ending;
  {
    const std::lock_guard lock(mutex_);
    ending = std::move(communicator_);
  }
  const std::shared_ptr<void> current = terms_.device->device().make_current();
  aborted_.set();
  if (ending) {
    ending->end_after([this] {
      const std::lock_guard lock(mutex_);
      return tasks_.all_begun();
    });
  }
  ending.reset();
}

/// Opens this rank's library.
ConnectionOffer NcclConnection::make_offer() {
  const Device& device = terms_.device->device();
  ConnectionOffer offer = {.requires_nccl = terms_.requires_nccl};
  offer.in_use.host = terms_.host;
  offer.in_use.may_share = may_share_gpus(terms_.environment);
  if (!device.uuid().empty()) offer.in_use.uuids = {device.uuid()};
  auto opened = open_nccl_for(device, terms_.environment);
  if (!opened) {
    offer.failure = std::move(opened).error().message;
    return offer;
  }
  library_ = *std::move(opened);
  offer.in_use.nccl_version = library_->version();
  offer.in_use.nccl_path = library_->path();
  offer.in_use.driver_version = cuda_driver_version();
  offer.peer_place = place_for_peers(terms_.environment);
  return offer;
}

/// NCCL waits for all ranks, also for one that has failed here.
Result<> NcclConnection::join(const NcclUniqueId& id, const ConnectionMeeting& meeting) {
  Device& device = terms_.device->device();
  stream_ = TRY(device.make_stream());
  plan_memory_ = TRY(device.allocate(plan_memory_bytes));
  aborted_ = TRY(AbortFlag::allocate(device));
  const std::shared_ptr<void> current = device.make_current();
  NcclWait limits = wait();
  limits.watch = meeting.with_failures(id, std::move(limits.watch));
  auto joined = TRY(NcclCommunicator::join(
      *library_, {.id = id, .rank = terms_.self.rank, .size = terms_.self.size}, limits));
  const std::lock_guard lock(mutex_);
  communicator_ = std::move(joined);
  return {};
}

NcclWait NcclConnection::wait() {
  return {.deadline = Clock::now() + join_max, .watch = [this]() -> Result<> {
            if (auto why = stopped()) return tl::unexpected(*std::move(why));
            // A call of NCCL may be behind a sum that waits for a late rank.
            return peers_ ? peers_->status() : Result<>();
          }};
}

std::optional<Error> NcclConnection::stopped() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

/// Begins tasks until the end.
void NcclConnection::serve() {
  std::unique_lock lock(mutex_);
  const auto wanted = [this] { return stop_ || closing_ || !tasks_.empty(); };
  while (true) {
    if (tasks_.none_taken()) {
      changed_.wait(lock, wanted);
    } else {
      changed_.wait_for(lock, check_every, wanted);
    }
    if (stop_ || (closing_ && tasks_.empty())) return;
    // Asked after the events: it concerns all kernels before them.
    const auto peers_work = [this] { return peers_ ? peers_->status() : Result<>(); };
    if (Result<> noted = tasks_.note_ends(peers_work); !noted) stop_ = std::move(noted).error();
    if (stop_) return;
    if (tasks_.empty()) {
      if (tasks_.none_taken()) continue;
      const std::optional<Error> failure = check_kernels(lock);
      if (failure && !stop_) stop_ = *failure;
      continue;
    }
    NcclQueue::Bucket bucket = tasks_.take();
    lock.unlock();
    Result<> started = start_on_device(bucket);
    lock.lock();
    for (const auto& task : bucket)
      if (started) task->state = NcclTask::State::on_device;
    if (started) continue;
    if (!stop_) stop_ = std::move(started).error();
    communicator_->stop(*stop_);  // so that it is aborted: its kernels may run
  }
}

/// Asks NCCL, without the lock, whether its kernels work.
std::optional<Error> NcclConnection::check_kernels(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  Result<> works = communicator_->status(wait());
  lock.lock();
  if (works) return std::nullopt;
  return std::move(works).error();
}

Result<> NcclConnection::start_on_device(NcclQueue::Bucket& bucket) {
  Device& device = terms_.device->device();
  const std::shared_ptr<void> current = device.make_current();
  const std::shared_ptr<DeviceEvent> done = TRY(terms_.device->take_event());
  for (const auto& task : bucket) {
    task->done = done;
    if (task->ready) TRY(stream_->wait(*task->ready));
  }
  TRY(run(plan(bucket)));
  TRY(stream_->record(*done));
  for (const auto& task : bucket)
    if (task->results) task->results->queue(done, task->tasks);
  return {};
}

NcclPlan NcclConnection::plan(const NcclQueue::Bucket& bucket) const {
  if (bucket.size() == 1) {
    const NcclTask& task = *bucket.front();
    std::byte* const memory = task.memory.bytes() > 0 ? task.memory.at() : plan_memory_.at();
    return plan_alone(task.part, terms_.self, memory);
  }
  std::vector<NcclPart> parts;
  for (const auto& task : bucket)
    parts.push_back(task->part);
  return plan_together(parts, terms_.self, plan_memory_.at());
}

Result<> NcclConnection::run(NcclPlan plan) {
  for (const CopyBatch& batch : plan.before)
    TRY(stream_->copy_pieces(batch));
  const bool by_peers = peers_ && peers_->runs(plan.call);
  if (!by_peers) let_nccl_divide(plan, terms_.self);
  TRY(by_peers ? peers_->begin(plan.call) : run_by_nccl(plan.call));
  if (plan.divide) TRY(stream_->reduce(*plan.divide));
  // Results that are unpacked are not written when the call has ended early.
  for (CopyBatch& batch : plan.after) {
    batch.skip = by_peers ? peers_->failed() : aborted_.at();
    TRY(stream_->copy_pieces(batch));
  }
  return {};
}

Result<> NcclConnection::run_by_nccl(NcclCall call) {
  // Without a handle, NCCL does not know the order of the stream.
  if (stream_->native() == nullptr) TRY(finish_stream([this] { watch_peers(); }));
  call.stream = stream_->native();
  return communicator_->run(call, {.deadline = Time::max(), .watch = wait().watch});
}

void NcclConnection::watch_peers() {
  if (peers_) (void)peers_->status();
}

/// Waits for the stream's work, unless the connection is stopped.
Result<> NcclConnection::finish_stream(const std::function<void()>& watch) {
  while (!TRY(stream_->done())) {
    if (auto why = stopped()) return tl::unexpected(*std::move(why));
    watch();
    const Result<> done = stream_->synchronize(Clock::now() + watch_every);
    if (!done && done.error().code != Errc::timeout) return done;
  }
  return {};
}

/// Ends NCCL's kernels, so that no buffer is used any more.
void NcclConnection::fail_all() {
  {
    const std::lock_guard lock(mutex_);
    if (!stop_) stop_ = Error{Errc::closed, std::string(finalized)};
    if (peers_) peers_->stop();
    if (communicator_ && !tasks_.all_reached()) communicator_->stop(*stop_);
  }
  leave();
  // Copies behind NCCL's part may still run.
  if (stream_)
    (void)watched_end(*stream_, Clock::now() + staged_work_max, [this] { watch_peers(); });
  const std::lock_guard lock(mutex_);
  tasks_.fail_all();
  way_ = Way::failed;
  changed_.notify_all();
}

void NcclConnection::begin(const std::shared_ptr<NcclTask>& task) {
  {
    const std::lock_guard lock(mutex_);
    if (way_ == Way::failed) {
      task->state = NcclTask::State::failed;
      return;
    }
    tasks_.add(task);
  }
  changed_.notify_all();
}

void NcclConnection::begin(const std::shared_ptr<NcclTask>& task, const NcclSlot& slot) {
  {
    const std::lock_guard lock(mutex_);
    if (way_ == Way::failed) {
      task->state = NcclTask::State::failed;
      return;
    }
    tasks_.add(task, slot);
  }
  changed_.notify_all();
}

Result<bool> NcclConnection::ended(const NcclTask& task) const {
  using State = NcclTask::State;
  const State before = [&] {
    const std::lock_guard lock(mutex_);
    return task.state;
  }();
  if (before == State::on_device) {
    const Result<bool> reached = is_reached(*task.done);
    if (!reached || !*reached) return reached;
  }
  // The kernels of a stopped connection end, too, but without results.
  const std::lock_guard lock(mutex_);
  if (task.state == State::failed) return tl::unexpected(*stop_);
  if (task.state == State::ended || before != State::on_device) return task.state == State::ended;
  // fail_all() follows, with the reason.
  if (stop_) return false;
  if (peers_) TRY(peers_->status());
  return true;
}

void NcclConnection::await_end(const NcclTask& task) {
  while (true) {
    const Result<bool> done = ended(task);
    if (!done || *done) return;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, watch_every);
  }
}

void NcclConnection::stop(Error why) {
  {
    const std::lock_guard lock(mutex_);
    if (way_ == Way::staged) return;
    if (stop_) {
      if (why.code == Errc::mismatch) stop_ = std::move(why);
      return;
    }
    stop_ = std::move(why);
    if (communicator_) communicator_->stop(*stop_);
    if (peers_) peers_->stop();
  }
  changed_.notify_all();
}

}  // namespace dt
