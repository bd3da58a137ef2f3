#include "comm/training/coordinator/coordinator.h"

#include "base/format.h"
#include "base/io/blocked_signals.h"
#include "base/io/open_files.h"
#include "base/running_time_clock.h"
#include "base/text.h"
#include "comm/transport/doorbell.h"
#include "comm/transport/tcp_link.h"

#include <algorithm>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

namespace dt {

namespace {

// The listener, the rendezvous, and connections that are not complete yet.
constexpr size_t files_besides_workers = 32;
constexpr Duration end_max = seconds(2);
/// How often a view without a descriptor is read, while its news matter.
constexpr Duration refresh_every = milliseconds(20);
constexpr Duration wait_step = std::chrono::hours(1);
/// The number of EndClosures; dispatches have lower ones.
constexpr uint32_t end_number = std::numeric_limits<uint32_t>::max();

std::vector<TaskEntry> tasks_of_role(const TaskTable& table, const std::string& role) {
  std::vector<TaskEntry> tasks;
  for (const TaskEntry& task : table.tasks)
    if (task.id.role == role) tasks.push_back(task);
  return tasks;
}

ClosureSchedule::Options schedule_options(ClosureSchedule::Options options,
                                          std::vector<TaskEntry> workers) {
  options.workers = std::move(workers);
  return options;
}

}  // namespace

std::string coordinator_endpoint_key(const TaskId& task) {
  return format("coordinator/{}/{}/endpoint", task.role, task.index);
}

Coordinator::Coordinator(Options options)
    : options_(std::move(options)),
      workers_(tasks_of_role(options_.rendezvous->table(), options_.workers)),
      schedule_(schedule_options(options_.schedule, workers_)) {
}

Result<std::unique_ptr<Coordinator>> Coordinator::start(Options options, Time deadline) {
  std::unique_ptr<Coordinator> made(new Coordinator(std::move(options)));
  const size_t workers = made->workers_.size();
  const size_t workers_min = made->options_.schedule.workers_min;
  if (workers < workers_min || workers == 0) {
    return fail(Errc::input,
                format("a coordinator of at least {} workers: the job has {} tasks of "
                       "role {}; start them by --role {}={}",
                       std::max<size_t>(workers_min, 1), workers, made->options_.workers,
                       made->options_.workers, std::max<size_t>(workers_min, 1)));
  }
  const TaskId& self = made->options_.rendezvous->self().id;
  if (self.role == made->options_.workers) {
    return fail(Errc::input, format("{} is a worker of the coordinator that it starts; another "
                                    "role, such as chief, must start it",
                                    self.text()));
  }
  made->doorbell_ = TRY(make_doorbell());
  TRY(made->listen(deadline));
  TRY(made->start_thread());
  return made;
}

Result<> Coordinator::listen(Time deadline) {
  const TaskEntry& self = options_.rendezvous->self();
  const size_t workers = workers_.size();
  PeerListener::Options options{.claim = options_.claim, .tcp_ips = self.addresses};
  if (options.tcp_ips.empty()) options.tcp_ips = {options_.rendezvous->local_ip()};
  options.held_port = options_.held_port;
  options.pending_max += workers;
  options.unaccepted_max = workers;
  const size_t sockets = options.tcp_ips.size() * PeerListener::sockets_for(workers);
  TRY(ensure_open_files(workers + sockets + files_besides_workers,
                        format("the connections of {} workers", workers)));
  listener_ = TRY(PeerListener::open(std::move(options)));
  const SetRequest publish{coordinator_endpoint_key(self.id), listener_->endpoint().encode(),
                           Lifetime::connection};
  TRY(options_.rendezvous->ask(publish, deadline));
  return {};
}

Result<> Coordinator::start_thread() {
  // The application's signals must not be delivered to this thread.
  const BlockedSignals blocked;
  Result<> started;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    started = fail_errno("start the thread of a coordinator", error.code().value());
  }
  return started;
}

Coordinator::~Coordinator() {
  {
    const std::scoped_lock alone(mutex_);
    ending_ = true;
  }
  if (!thread_.joinable()) return;
  ring(doorbell_.get());
  thread_.join();
}

Result<uint64_t> Coordinator::schedule(std::string_view name, ByteSpan argument, bool kept) {
  const std::scoped_lock alone(mutex_);
  const uint64_t number = TRY(schedule_.add(name, argument, kept));
  ring(doorbell_.get());
  return number;
}

/// `closure` is the one that is awaited; none: all.
Result<> Coordinator::await(const std::function<bool()>& reached, std::optional<uint64_t> closure,
                            std::unique_lock<std::mutex>& lock, Time deadline) {
  Deadline until(deadline);
  while (!reached()) {
    if (until.passed()) {
      return fail(Errc::timeout,
                  schedule_.describe_unfinished(closure) + " has not finished in time");
    }
    changed_.wait_until(lock, std::min(until.wake_up_at(), Clock::now() + wait_step));
  }
  return {};
}

Result<> Coordinator::join(Time deadline) {
  std::unique_lock lock(mutex_);
  TRY(await([this] { return schedule_.unfinished() == 0; }, std::nullopt, lock, deadline));
  if (auto failure = schedule_.take_failure()) return tl::unexpected(*std::move(failure));
  return {};
}

Result<Bytes> Coordinator::fetch(uint64_t closure, Time deadline) {
  std::unique_lock lock(mutex_);
  using State = ClosureSchedule::State;
  TRY(await([&] { return schedule_.state(closure) != State::unfinished; }, closure, lock,
            deadline));
  if (schedule_.state(closure) == State::finished) return schedule_.fetch(closure);
  return fail(Errc::input, format("there is no closure {}, or it has been fetched", closure));
}

bool Coordinator::done() {
  const std::scoped_lock alone(mutex_);
  return schedule_.unfinished() == 0;
}

void Coordinator::work() {
  while (true) {
    {
      const std::scoped_lock alone(mutex_);
      round();
      if (end_at_ && (connections_.empty() || Clock::now() >= *end_at_)) break;
    }
    wait();
  }
  const EraseRequest withdraw{coordinator_endpoint_key(options_.rendezvous->self().id)};
  // A worker that connects now finds nothing that listens; the end of this task explains it.
  if (!rendezvous_lost_)
    static_cast<void>(options_.rendezvous->ask(withdraw, Clock::now() + end_max));
}

/// Requires the lock.
void Coordinator::round() {
  accept();
  for (auto& [worker, connection] : connections_)
    if (std::exchange(connection.ready, false)) advance(worker, connection);
  // Only after the last outcomes of workers that have ended.
  read_rendezvous();
  schedule_.advance(Clock::now());
  if (ending_) end_service();
  deliver();
  std::erase_if(connections_, [](const auto& entry) { return entry.second.messages == nullptr; });
  changed_.notify_all();
  const bool unheard = schedule_.any_absent() || schedule_.any_unexplained();
  wake_up_at_ = std::min(schedule_.next_deadline(), end_at_.value_or(Time::max()));
  // A view without a descriptor cannot wake this thread.
  if (unheard && !rendezvous_lost_ && options_.rendezvous->fd() < 0)
    wake_up_at_ = std::min(wake_up_at_, Clock::now() + refresh_every);
}

void Coordinator::wait() {
  polled_.clear();
  listener_->collect_fds(polled_);
  const size_t listening = polled_.size();
  polled_.push_back({.fd = doorbell_.get(), .events = POLLIN, .revents = 0});
  const int news = rendezvous_lost_ ? -1 : options_.rendezvous->fd();
  polled_.push_back({.fd = news, .events = POLLIN, .revents = 0});
  const size_t first_connection = polled_.size();
  bool ready = false;
  const Time now = Clock::now();
  Time until = std::min(wake_up_at_, listener_->next_deadline());
  for (const auto& [worker, connection] : connections_) {
    until = std::min(until, connection.messages->free_unused_memory(now));
    const bool unsent = connection.messages->unsent();
    polled_.push_back({.fd = connection.messages->fd(),
                       .events = static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN),
                       .revents = 0});
    ready = ready || connection.ready;
  }
  if (ready) until = Time::min();
  // After a failure of poll, the next round tries every connection.
  if (poll(polled_.data(), polled_.size(), poll_ms(Clock::now(), until)) < 0)
    for (pollfd& fd : polled_)
      fd.revents = POLLERR;
  listener_->take_events(std::span(polled_).first(listening));
  if (polled_[listening].revents != 0) silence(doorbell_.get());
  size_t at = first_connection;
  for (auto& [worker, connection] : connections_)
    connection.ready = polled_[at++].revents != 0 || connection.ready;
}

std::optional<size_t> Coordinator::number_of(const TaskId& task) const {
  const auto at = std::ranges::find(workers_, task, &TaskEntry::id);
  if (at == workers_.end()) return std::nullopt;
  return static_cast<size_t>(at - workers_.begin());
}

Result<> Coordinator::admit(PeerHandshake& handshake) const {
  const std::optional<size_t> worker = number_of(handshake.peer());
  const TaskEntry& self = options_.rendezvous->self();
  if (!worker) {
    handshake.refuse_peer(format("{} coordinates the tasks of role {}, and not {}", self.id.text(),
                                 options_.workers, printable(handshake.peer().text())));
    return fail(Errc::refused, "unexpected peer");
  }
  tune_link(handshake.fd(), workers_[*worker].agent == self.agent, options_.dead_after);
  return handshake.accept_peer({}, 0);
}

void Coordinator::accept() {
  auto connected = listener_->advance(
      Clock::now(), [this](PeerHandshake& handshake) { return admit(handshake); });
  // Without descriptors the listener pauses, and tries again.
  if (!connected) return;
  for (const auto& handshake : *connected) {
    const size_t worker = number_of(handshake->peer()).value();
    // The newest connection of a task counts.
    if (connections_.erase(worker) > 0) schedule_.disconnected(worker, Clock::now());
    AuthenticatedConnection complete = handshake->take();
    connections_[worker].messages = std::make_unique<MessageConnection>(
        std::move(complete.socket), complete.handshake.session(),
        MessageConnection::Options{.generation = options_.claim.generation,
                                   .message_bytes_max = closure_message_bytes_max,
                                   .incoming_max = 1});
    schedule_.connected(worker);
    if (end_at_) send(worker, end_number, encode(ClosureMessage(EndClosures())));
  }
}

void Coordinator::read_rendezvous() {
  if (rendezvous_lost_) return;
  // Without the launcher, this process ends soon.
  rendezvous_lost_ = !options_.rendezvous->refresh();
  while (const auto notice = options_.rendezvous->next_notice()) {
    const std::optional<size_t> worker = schedule_.gone(*notice);
    if (worker) connections_.erase(*worker);
  }
}

void Coordinator::advance(size_t worker, Connection& connection) {
  Result<> advanced = connection.messages->advance();
  while (auto message = connection.messages->take()) {
    auto outcome = decode_closure_outcome(*message->body);
    const Result<> taken = outcome ? schedule_.finished(worker, message->id, *std::move(outcome))
                                   : Result<>(tl::unexpected(std::move(outcome).error()));
    if (!taken) advanced = taken;
  }
  if (!advanced) disconnect(worker);
}

void Coordinator::disconnect(size_t worker) {
  connections_.at(worker).messages.reset();
  schedule_.disconnected(worker, Clock::now());
}

bool Coordinator::send(size_t worker, uint32_t number, Bytes message) {
  Connection& connection = connections_.at(worker);
  if (connection.messages->send(number, std::move(message)) && connection.messages->advance()) {
    connection.ready = true;
    return true;
  }
  disconnect(worker);
  return false;
}

void Coordinator::deliver() {
  if (end_at_) return;
  bool lost = true;
  // A closure whose worker is lost at once needs another one.
  while (std::exchange(lost, false)) {
    for (const ClosureSchedule::Dispatch& dispatch : schedule_.take_dispatches())
      lost = !send(dispatch.worker, dispatch.number, Bytes(*dispatch.message)) || lost;
  }
}

void Coordinator::end_service() {
  if (end_at_) return;
  end_at_ = Clock::now() + end_max;
  for (auto& [worker, connection] : connections_)
    if (connection.messages != nullptr)
      send(worker, end_number, encode(ClosureMessage(EndClosures())));
}

}  // namespace dt
