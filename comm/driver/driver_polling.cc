// How a driver waits while it does not sleep.
#include "base/spin_pause.h"
#include "comm/collective/operation.h"
#include "comm/driver/driver.h"
#include "comm/engine/groups.h"

namespace dt {

namespace {

/// It polls all sockets so often while it reads the one that it waits for.
constexpr Duration poll_others_every = microseconds(20);
/// The clock takes longer to read than a spin. Another process may take the core at each yield.
constexpr int spins_per_step = 32;
constexpr int yields_per_step = 4;

}  // namespace

/// The links are not polled each time while `operation` waits for one rank, whose link is read.
void Driver::poll_once(Time now, const Operation* operation) {
  if (!parts_.mesh) return;
  Duration every = poll_every;
  if (const int sockets = parts_.mesh->sockets(); sockets > 0) {
    const bool one_rank = operation != nullptr && parts_.engine->poll(*operation);
    if (!one_rank || sockets > 1) every = one_rank ? poll_others_every : Duration::zero();
  }
  if (now - polled_at_ < every) return;
  polled_at_ = now;
  const Result<bool> polled = parts_.mesh->wait(now);
  if (!polled) return lose_launcher(now);
  if (*polled) read_rendezvous(now);
}

/// Waits for a moment, and checks the operation alone if that is cheap. Returns true when data has
/// moved.
bool Driver::spin(const Operation* operation) {
  if (core_.yields()) return spin_yielding(operation);
  if (core_.must_probe()) yield_core();
  spin_pause();
  // A check of the links is a system call, which the next round makes.
  if (operation == nullptr) return false;
  RankGroup* const group = parts_.engine->groups().find(operation->request.group);
  if (group == nullptr || !group->needs_no_frames(operation->request)) return false;
  bool moved = false;
  for (int turn = 0; turn < spins_per_step && !moved; ++turn) {
    if (wanted() || !inbox_.empty()) return false;
    moved = true;  // also when memory runs out: the operation has failed then
    protect([&] { moved = parts_.engine->spin(*group, *operation, checks_per_spin); });
  }
  return moved;
}

/// The same where each check lets other processes use the core.
bool Driver::spin_yielding(const Operation* operation) {
  bool moved = false;
  for (int turn = 0; turn < yields_per_step && !moved; ++turn) {
    yield_core();
    if (operation == nullptr || wanted() || !inbox_.empty()) return false;
    moved = true;
    protect([&] {
      parts_.engine->poll(*operation);
      moved = parts_.engine->spin(*operation, 1);
    });
  }
  return moved;
}

void Driver::yield_core() {
  const Time before = Clock::now();
  std::this_thread::yield();
  core_.note_yield(Clock::now() - before);
}

}  // namespace dt
