#pragma once

#include "base/format.h"
#include "comm/engine/engine.h"
#include "tests/sim/program.h"
#include "tests/sim/virtual_link.h"
#include "tests/unit/comm/transport/heap_area.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

enum class Fault { none, death, leave, link_break, silence, slow_user, launcher_lost, hurry };

/// Everything that a seed decides before its run.
struct Plan {
  int size = 2;
  Fault fault = Fault::none;
  int victim = 0;
  int other = 1;  ///< the far end of a link that fails
  Duration fault_at = {};
  bool tight_timeouts = false;
  bool generous_timeouts = false;
  Duration dead_after = seconds(1);
  Duration think_max = {};
  Wire::Nature wires;
  bool sealed = false;
  bool one_host = false;  ///< the ranks share memory
  size_t slot_bytes = 0;  ///< of that memory
  Program program;

  bool timeouts_strike() const { return tight_timeouts || fault == Fault::hurry; }
  bool is_in_a_hurry(int rank) const { return fault == Fault::hurry && rank == victim; }
};

inline Plan make_plan(Random& random) {
  Plan plan;
  plan.size = random.between(2, 9);
  if (random.percent(60)) plan.fault = static_cast<Fault>(random.below(8));
  plan.victim = random.between(0, plan.size - 1);
  plan.other = (plan.victim + random.between(1, plan.size - 1)) % plan.size;
  plan.fault_at = random.up_to(milliseconds(30));
  plan.tight_timeouts = plan.fault == Fault::silence || plan.fault == Fault::slow_user;
  // The others have no timeouts of their own then: they only learn of those of the hurried rank.
  plan.generous_timeouts = plan.fault != Fault::hurry && random.percent(50);
  plan.dead_after = milliseconds(random.between(100, 2000));
  plan.think_max = random.percent(50) ? Duration::zero() : random.up_to(milliseconds(5));
  plan.sealed = random.percent(30);
  plan.one_host = random.percent(50);
  plan.slot_bytes = size_t{1} << random.between(10, 16);
  plan.program = random_program(random, plan.size, random.percent(40));
  // Large buffers over wires that hold a few bytes would only take long.
  const bool large = std::any_of(plan.program.calls.begin(), plan.program.calls.end(),
                                 [](const Call& call) { return call.count >= 1000; });
  plan.wires = {.capacity = size_t{1} << random.between(large ? 12 : 4, 17),
                .delay_max = random.up_to(milliseconds(3)),
                .cut = random.percent(70)};
  return plan;
}

/// Runs a plan in virtual time and checks the outcome of every operation. `complaint` has the
/// first broken promise.
class World {
 public:
  explicit World(uint64_t seed);
  void run();
  const std::string& complaint() const { return complaint_; }

 private:
  struct Running {
    size_t call = 0;
    std::shared_ptr<Operation> operation;
    std::unique_ptr<Bytes> input;
    std::unique_ptr<Bytes> output;
  };
  struct Rank {
    std::unique_ptr<Engine> engine;
    size_t next_call = 0;
    Time next_submit = {};
    std::vector<Running> running;
    bool alive = true;
    Time last_notice = {};  ///< arrival of the last one; notices keep their order
    std::optional<Time> finished;
  };

  Rank& rank(int number) { return ranks_[static_cast<size_t>(number)]; }
  Wire& wire(int from, int to) { return *wires_[{from, to}]; }
  void connect();
  std::unique_ptr<Session> session(int self, int other) const;
  void at(Time when, std::function<void()> event) { events_.emplace(when, std::move(event)); }
  void schedule_fault();
  void strike();
  void end_task(int number, Notice::Kind kind);
  bool run_events();
  bool step_user(int number);
  void submit(int number, size_t call);
  bool collect(int number);
  void maybe_leave(int number);
  bool all_ranks_finished() const;
  Time next_time() const;

  void judge(int number, const Running& running);
  void judge_success(int number, const Running& running);
  bool has_right_result(int number, const Running& running) const;
  void judge_failure(int number, const Running& running);
  bool may_fail_with(const Error& error) const;
  void complain(int number, const Running& running, const std::string& what);

  uint64_t seed_;
  Random random_;
  Plan plan_;
  Time now_ = Time(seconds(1000));
  std::map<std::pair<int, int>, std::shared_ptr<Wire>> wires_;
  std::vector<Rank> ranks_;
  std::multimap<Time, std::function<void()>> events_;
  /// The first result of each rough call; for reduce_scatter, that of each rank's part.
  std::map<std::pair<size_t, int>, Bytes> rough_results_;
  std::map<size_t, std::string> mismatch_texts_;
  std::string complaint_;
};

}  // namespace dt
