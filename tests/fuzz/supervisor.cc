// The supervisor under any sequence of events. The input is readable: a character of flags, then
// events of two characters each, for example "0 s0 s1 s2 f3 +5 x0 x1". `happen` has their meaning.

#include "launcher/job/supervision/supervisor.h"

#include "tests/fuzz/fuzz.h"

#include <csignal>

namespace dt {
namespace {

constexpr size_t hosts = 2;
constexpr size_t per_host = 2;
constexpr size_t tasks = hosts * per_host;

/// Returns a plan of four workers, or of a chief, two workers and an evaluator.
Plan small_plan(bool with_roles, bool with_restarts) {
  Plan plan;
  if (with_restarts)
    plan.roles = {{.name = "worker", .restarts = 2, .restarts_always = with_roles}};
  plan.world_size = tasks;
  for (size_t h = 0; h < hosts; ++h) {
    plan.hosts.push_back({.host = {.name = "node", .slots = per_host}});
  }
  for (size_t i = 0; i < tasks; ++i) {
    const int rank = static_cast<int>(i);
    const char* const role = !with_roles ? "worker"
                             : i == 0    ? "chief"
                             : i == 3    ? "evaluator"
                                         : "worker";
    const bool ranked = !with_roles || i < 3;
    plan.add(
        {.id = {role, rank}, .rank = ranked ? rank : -1, .agent = static_cast<int>(i / per_host)});
  }
  return plan;
}

/// Bits: 1: --on-failure continue; 2: --timeout; 4: --grace 0; 8: with roles. Bit 64: --clean all;
/// 128: --clean none; without 16: --dump-stacks; without 32: --restart-role worker=2, with roles
/// worker=always:2. '0' has none of these.
Supervisor::Options options_of(uint8_t flags, Time now) {
  Supervisor::Options options = {.start_deadline = now + seconds(30)};
  options.continue_on_failure = (flags & 1) != 0;
  options.dump_stacks = (flags & 16) == 0;
  if ((flags & 2) != 0) options.timeout = seconds(60);
  if ((flags & 64) != 0) options.success.clean = CleanUp::all;
  if ((flags & 128) != 0) options.success.clean = CleanUp::none;
  if ((flags & 4) != 0) options.grace = Duration::zero();
  return options;
}

/// A supervisor, and the record of its actions, against which each further action is checked.
class World {
 public:
  explicit World(uint8_t flags)
      : job_(small_plan((flags & 8) != 0, (flags & 32) == 0), options_of(flags, now_), now_) {}

  void happen(uint8_t what, size_t which) {
    constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const size_t task = which % tasks;
    switch (what) {
      case 's':
        return take(job_.started(task, 77, now_));
      case 'n':
        return take(job_.start_failed(task, 127, "not found", now_));
      case 'x':
        return take(job_.exited(task, {}, now_));
      case 'f':
        return take(job_.exited(task, {.code = 1 + static_cast<int>(task)}, now_));
      case 'k':
        return take(job_.exited(task, {.signal = SIGKILL}, now_));
      case 'l':
        return take(job_.agent_lost(which % hosts, "no heartbeat for 5s", now_));
      case 'z':
        return take(job_.pause_wanted(now_));
      case 'p':
        return take(job_.paused(which % hosts));
      case 'e':
        return take(job_.agent_finished(which % hosts));
      case 'i':
        return take(job_.interrupted(signals[which % std::size(signals)], now_));
      case 'm':
        return advance(milliseconds(which));
      case '+':
        return advance(seconds(which));
      default:
        return;
    }
  }

  /// After SIGTERM the job ends in bounded time, even if no agent answers.
  void end() {
    for (int i = 0; i < 3 && !job_.finishing(); ++i) {
      take(job_.interrupted(SIGTERM, now_));
      advance(seconds(20));
    }
    assert(job_.finishing() && finishes_ == 1);
    advance(seconds(60));
    assert(job_.next_deadline() == Time::max());
    assert(job_.outcome().failed_tasks <= static_cast<int>(tasks));
  }

 private:
  /// Ticks at each deadline, as the loop does.
  void advance(Duration step) {
    const Time until = now_ + step;
    int ticks = 0;
    while (job_.next_deadline() <= until) {
      // There are fewer phases, and none waits in the past. Each task may be restarted once.
      constexpr int ticks_max = 8 + tasks;
      assert(++ticks <= ticks_max);
      now_ = std::max(now_, job_.next_deadline());
      take(job_.tick(now_));
    }
    now_ = until;
    take(job_.tick(now_));
  }

  void take(const Actions& actions) {
    std::ranges::for_each(actions, [this](const Action& action) { take(action); });
    const Outcome& outcome = job_.outcome();
    if (status_ != 0) assert(outcome.exit_status == status_);
    status_ = outcome.exit_status;
    assert((finishes_ == 1) == job_.finishing());
  }
  void take(const Action& action) {
    switch (action.kind) {
      case Action::Kind::notify:
        if (action.notice.kind == Notice::Kind::restarted || action.notice.returns) break;
        ++ends_[static_cast<size_t>(action.notice.task.index)];
        assert(ends_[static_cast<size_t>(action.notice.task.index)] == 1);
        break;
      case Action::Kind::signal:
        assert(finishes_ == 0);
        assert(!killed_ || action.signal == SIGKILL);
        killed_ = action.signal == SIGKILL;
        break;
      case Action::Kind::start:
        assert(finishes_ == 0 && !killed_ && !paused_);
        ++attempts_[action.task];
        assert(action.attempt == attempts_[action.task] + first_attempt);
        assert(attempts_[action.task] <= 2 && ends_[action.task] == 0);
        break;
      case Action::Kind::dump:
        assert(finishes_ == 0 && !killed_ && !dumped_ && !paused_);
        dumped_ = true;
        break;
      case Action::Kind::pause:
        assert(!paused_);
        paused_ = true;
        break;
      case Action::Kind::suspend:
        // No deadline expires during a suspension, however long.
        assert(paused_ && job_.next_deadline() == Time::max());
        now_ += std::chrono::hours(1);
        take(job_.resumed(now_));
        assert(!paused_ && job_.next_deadline() >= now_);
        break;
      case Action::Kind::resume:
        assert(paused_);
        paused_ = false;
        break;
      case Action::Kind::stop_waiting:
        assert(finishes_ == 1);
        break;
      case Action::Kind::finish:
        ++finishes_;
        break;
      case Action::Kind::note:
      case Action::Kind::warn:
        assert(!action.text.empty());
        break;
    }
  }

  Time now_ = Time() + seconds(1000);
  Supervisor job_;
  std::array<int, tasks> ends_ = {};
  std::array<uint32_t, tasks> attempts_ = {};
  int finishes_ = 0;
  bool dumped_ = false;
  bool killed_ = false;
  bool paused_ = false;
  int status_ = 0;
};

}  // namespace

void fuzz_one(ByteSpan bytes) {
  Reader input(bytes);
  World world(input.number<uint8_t>());
  while (input.rest().size() >= 2) {
    const auto what = input.number<uint8_t>();
    if (what == ' ' || what == '\n') continue;
    const auto which = input.number<uint8_t>();
    world.happen(what, which >= '0' && which <= '9' ? which - size_t{'0'} : which);
  }
  world.end();
}

}  // namespace dt
