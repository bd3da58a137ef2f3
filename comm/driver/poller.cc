#include "comm/driver/poller.h"

#include "base/spin_pause.h"
#include "comm/engine/engine.h"
#include "comm/engine/groups.h"

#include <thread>

namespace dt {

namespace {

/// A driver that always has data to move still polls the sockets and the rendezvous this often.
constexpr Duration poll_every = milliseconds(1);
/// It polls all sockets so often while it reads the one that it waits for.
constexpr Duration poll_others_every = microseconds(20);
/// The clock takes longer to read than a spin. Another process may take the core at each yield.
constexpr int spins_per_step = 32;
constexpr int yields_per_step = 4;
/// How often a spin checks shared memory before the driver checks for other threads.
constexpr int checks_per_spin = 16;
/// How often a quick call spins before it takes the long way.
constexpr int quick_turns_max = 16;

}  // namespace

bool Poller::due(Time now) const {
  return now - polled_at_ >= poll_every;
}

Result<bool> Poller::poll(Time now, const Operation* operation) {
  if (parts_.mesh == nullptr) return false;
  Duration every = poll_every;
  if (const int sockets = parts_.mesh->sockets(); sockets > 0) {
    const bool one_rank = operation != nullptr && parts_.engine.poll(*operation);
    if (!one_rank || sockets > 1) every = one_rank ? poll_others_every : Duration::zero();
  }
  if (now - polled_at_ < every) return false;
  polled_at_ = now;
  return parts_.mesh->wait(now);
}

bool Poller::spin(const Operation* operation) {
  if (core_.yields()) return spin_yielding(operation);
  if (core_.must_probe()) yield_core();
  spin_pause();
  // A check of the links is a system call, which the next round makes.
  if (operation == nullptr) return false;
  RankGroup* const group = parts_.engine.groups().find(operation->request.group);
  if (group == nullptr || !group->needs_no_frames(operation->request)) return false;
  bool moved = false;
  for (int turn = 0; turn < spins_per_step && !moved; ++turn) {
    if (parts_.monitor.wanted() || !parts_.inbox.empty()) return false;
    moved = parts_.engine.spin(*group, *operation, checks_per_spin);
  }
  return moved;
}

/// The same where each check lets other processes use the core.
bool Poller::spin_yielding(const Operation* operation) {
  bool moved = false;
  for (int turn = 0; turn < yields_per_step && !moved; ++turn) {
    yield_core();
    if (operation == nullptr || parts_.monitor.wanted() || !parts_.inbox.empty()) return false;
    parts_.engine.poll(*operation);
    moved = parts_.engine.spin(*operation, 1);
  }
  return moved;
}

void Poller::spin_quickly(RankGroup& group, const Operation& operation) {
  const bool yields = core_.yields();
  for (int turn = 0; turn < quick_turns_max && !operation.outcome; ++turn) {
    if (parts_.monitor.wanted()) return;
    if (yields && turn > 0) yield_core();
    parts_.engine.spin(group, operation, yields ? 1 : checks_per_spin);
  }
}

void Poller::yield_core() {
  const Time before = Clock::now();
  std::this_thread::yield();
  core_.note_yield(Clock::now() - before);
}

}  // namespace dt
