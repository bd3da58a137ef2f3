#include "base/io/loop.h"

#include <sys/epoll.h>

#include <cerrno>
#include <utility>

namespace dt {

namespace {

/// The kernel reports errors and hang-ups even of descriptors without events. Edge-triggered, it
/// reports them once; level-triggered, the loop would never sleep again.
uint32_t for_kernel(uint32_t events) {
  return events == 0 ? uint32_t{EPOLLET} : events;
}

}  // namespace

Watch::Watch(Watch&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)), id_(other.id_) {
}

Watch& Watch::operator=(Watch&& other) noexcept {
  std::swap(loop_, other.loop_);
  std::swap(id_, other.id_);
  // The previous watch ends now, not when `other` is destroyed.
  const Watch ended = std::move(other);
  return *this;
}

Watch::~Watch() {
  if (loop_ == nullptr) return;
  const auto at = loop_->entries_.find(id_);
  if (at == loop_->entries_.end()) return;
  at->second->live = false;
  // The kernel keeps a closed descriptor in the set while any process shares its open file. So it
  // is removed explicitly.
  epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_DEL, at->second->fd, nullptr);
  loop_->entries_.erase(at);
}

void Watch::set_events(uint32_t events) {
  Loop::Entry& entry = *loop_->entries_.at(id_);
  if (entry.events == events) return;
  entry.events = events;
  epoll_event event{.events = for_kernel(events), .data = {.u64 = id_}};
  epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_MOD, entry.fd, &event);
}

Timer::Timer(Timer&& other) noexcept
    : loop_(std::exchange(other.loop_, nullptr)), when_(other.when_), id_(other.id_) {
}

Timer& Timer::operator=(Timer&& other) noexcept {
  std::swap(loop_, other.loop_);
  std::swap(when_, other.when_);
  std::swap(id_, other.id_);
  const Timer ended = std::move(other);
  return *this;
}

Timer::~Timer() {
  if (loop_ != nullptr) loop_->timers_.erase({when_, id_});
}

Timer::operator bool() const {
  return loop_ != nullptr && loop_->timers_.contains({when_, id_});
}

Result<Fd> Loop::make_epoll() {
  Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("cannot make an epoll descriptor");
  return epoll;
}

Result<std::unique_ptr<Loop>> Loop::create() {
  Fd epoll = TRY(make_epoll());
  return std::unique_ptr<Loop>(new Loop(std::move(epoll)));
}

Result<Watch> Loop::watch(int fd, uint32_t events, Handler handler) {
  const uint64_t id = next_id_++;
  epoll_event event{.events = for_kernel(events), .data = {.u64 = id}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0) {
    return fail_errno("cannot watch a descriptor");
  }
  entries_[id] = std::make_shared<Entry>(Entry{fd, events, std::move(handler)});
  return Watch(*this, id);
}

Timer Loop::at(Time when, std::function<void()> callback) {
  const uint64_t id = next_id_++;
  timers_.emplace(std::pair(when, id), std::move(callback));
  return {*this, when, id};
}

Timer Loop::after(Duration delay, std::function<void()> callback) {
  return at(now() + delay, std::move(callback));
}

Result<> Loop::run() {
  do {
    TRY(run_once(Time::max()));
  } while (!stopped_);
  return {};
}

int Loop::poll_events(std::span<epoll_event> events, int wait_ms) const {
  return epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms);
}

int Loop::wait(std::span<epoll_event> events, Time until) {
  return poll_events(events, until == Time::max() ? -1 : poll_ms(now(), until));
}

Result<> Loop::run_once(Time deadline) {
  stopped_ = false;
  epoll_event events[64];
  const int n = wait(events, std::min(deadline, next_timer()));
  if (n < 0 && errno != EINTR) return fail_errno("cannot wait for events");
  for (int i = 0; i < n && !stopped_; ++i) {
    const auto at = entries_.find(events[i].data.u64);
    if (at == entries_.end()) continue;
    const std::shared_ptr<Entry> entry = at->second;
    if (entry->live) entry->handler(events[i].events);
  }
  run_timers();
  return {};
}

void Loop::run_timers() {
  const Time due = now();
  while (!stopped_ && next_timer() <= due) {
    const std::function<void()> callback = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    callback();
  }
}

}  // namespace dt
