#pragma once

#include "tests/sim/program.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_group.h"
#include "tests/sim/virtual_link.h"

#include <algorithm>
#include <vector>

namespace dt {

enum class Fault {
  none,
  death,
  leave,
  link_break,
  silence,
  slow_user,
  launcher_lost,
  hurry,
  leave_group,
};

/// Everything that a seed decides before its run.
struct SimPlan {
  int size = 2;
  std::vector<SimGroup> groups;  ///< all ranks first
  Fault fault = Fault::none;
  int victim = 0;
  int other = 1;          ///< the far end of a link that fails
  size_t left_group = 0;  ///< the group that the victim leaves early
  Duration fault_at = {};
  bool tight_timeouts = false;
  bool generous_timeouts = false;
  std::vector<bool> limited;  ///< by group: tight and hurried timeouts are those of its calls
  Duration dead_after = seconds(1);
  Duration think_max = {};
  Wire::Nature wires;
  bool sealed = false;
  int hosts = 1;                 ///< ranks are dealt to them
  bool in_turn = false;          ///< one after the other; otherwise each host is filled in turn
  bool host_memory = false;      ///< the ranks of each host share memory
  size_t slot_bytes = 0;         ///< of that memory
  int group_areas = 0;           ///< how many groups of a rank have memory
  size_t unasked_bytes_max = 0;  ///< see Engine::Options
  bool rests = false;            ///< ranks that are done wait for the others before they leave
  Program program;

  int host_of(int rank) const { return in_turn ? rank % hosts : rank * hosts / size; }
  bool timeouts_strike(size_t group) const {
    return (tight_timeouts || fault == Fault::hurry) && limited[group];
  }
  bool is_in_a_hurry(int rank) const { return fault == Fault::hurry && rank == victim; }
  bool fails_link() const { return fault == Fault::link_break || fault == Fault::silence; }
};

/// Returns the groups whose calls have tight timeouts. A link that falls silent needs them in every
/// group that uses it, because nothing else ends their calls.
inline std::vector<bool> limited_groups(Random& random, const SimPlan& plan) {
  std::vector<bool> limited;
  for (const SimGroup& group : plan.groups) {
    const bool uses_link = group.has(plan.victim) && group.has(plan.other);
    limited.push_back(plan.fault == Fault::silence ? uses_link : random.percent(60));
  }
  return limited;
}

inline void draw_fault(Random& random, SimPlan& plan) {
  if (random.percent(65)) plan.fault = static_cast<Fault>(random.below(9));
  plan.victim = random.between(0, plan.size - 1);
  plan.other = (plan.victim + random.between(1, plan.size - 1)) % plan.size;
  plan.fault_at = random.up_to(milliseconds(30));
  if (plan.fault == Fault::leave_group) {
    plan.left_group = random.below(plan.groups.size());
    const std::vector<int>& members = plan.groups[plan.left_group].ranks;
    plan.victim = members[random.below(members.size())];
    // The job's ranks leave their group with the job.
    if (plan.left_group == 0) plan.fault = Fault::none;
  }
  plan.tight_timeouts = plan.fault == Fault::silence || plan.fault == Fault::slow_user;
  // The others have no timeouts of their own then: they only learn of those of the hurried rank.
  plan.generous_timeouts = plan.fault != Fault::hurry && random.percent(50);
  plan.limited = limited_groups(random, plan);
}

inline Wire::Nature random_wires(Random& random, const Program& program) {
  // Large buffers over wires that hold a few bytes would only take long.
  const bool large = std::any_of(program.calls.begin(), program.calls.end(),
                                 [](const Call& call) { return call.count >= 1000; });
  const bool tiny = !large && random.percent(40);
  return {.capacity = size_t{1} << (tiny ? 4 : random.between(large ? 12 : 4, 17)),
          .delay_max = random.up_to(milliseconds(3)),
          .cut = tiny || random.percent(70)};
}

inline SimPlan make_plan(Random& random) {
  SimPlan plan;
  plan.size = random.between(2, 9);
  plan.groups = random_groups(random, plan.size);
  draw_fault(random, plan);
  plan.dead_after = milliseconds(random.between(100, 2000));
  plan.think_max = random.percent(50) ? Duration::zero() : random.up_to(milliseconds(5));
  plan.sealed = random.percent(30);
  if (random.percent(60)) plan.hosts = random.between(1, 1 + plan.size / 2);
  plan.in_turn = random.percent(30);
  plan.host_memory = random.percent(70);
  plan.group_areas = random.between(0, 3);
  plan.slot_bytes = size_t{1} << random.between(10, 16);
  plan.unasked_bytes_max = random.percent(50) ? size_t{64} << 10 : random.below(200);
  plan.program = random_program(random, plan.groups, random.percent(40));
  plan.wires = random_wires(random, plan.program);
  plan.rests = random.percent(50);
  return plan;
}

}  // namespace dt
