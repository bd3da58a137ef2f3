#pragma once

#include "tests/sim/program.h"

#include <optional>
#include <utility>
#include <vector>

namespace dt {

/// The end of one rank, while the others continue.
struct RandomFault {
  enum class Kind : uint8_t { none, kill, timed_kill, exit, leave };
  Kind kind = Kind::none;
  int victim = -1;
  int phase = 0;
  size_t action = 0;  ///< the victim ends before this action of the phase
  int delay_us = 0;   ///< of timed_kill, from the beginning of the phase

  bool is_death() const { return kind != Kind::none && kind != Kind::leave; }
};

/// How a phase begins: the members of a parent make new groups, all at once.
struct GroupCreation {
  size_t parent = 0;
  bool by_split = false;
  std::vector<int> colors = {};   ///< by_split: of each member of the parent
  std::vector<int> members = {};  ///< otherwise: ranks of the parent, in the new group's order
};

/// One phase of a job. Its calls are made at once in each group's order, or one after the other.
struct RandomPhase {
  std::optional<GroupCreation> creation = {};
  bool blocking = false;
  Program program = {};
};

/// All decisions of a run, made from its seed. Every rank makes the same ones.
class RandomPlan {
 public:
  RandomPlan(uint64_t seed, int size) : random_(seed), groups_(1) {
    for (int rank = 0; rank < size; ++rank)
      groups_[0].ranks.push_back(rank);
    phases_ = random_.between(1, 4);
    mismatches_ = random_.percent(30);
    tcp_ = random_.percent(30);
    fault_.kind = static_cast<RandomFault::Kind>(random_.below(5));
    fault_.victim = random_.between(0, size - 1);
    fault_.phase = random_.between(0, phases_ - 1);
    fault_.action = random_.below(20);
    fault_.delay_us = random_.between(0, 20'000);
  }

  int phases() const { return phases_; }
  bool tcp_only() const { return tcp_; }
  const RandomFault& fault() const { return fault_; }
  /// The groups so far. The first one has all ranks.
  const std::vector<SimGroup>& groups() const { return groups_; }

  /// Returns the next phase, and adds its groups.
  RandomPhase next() {
    RandomPhase phase;
    if (random_.percent(70) && groups_.size() < groups_max) phase.creation = create();
    phase.blocking = random_.percent(50);
    phase.program = phase.blocking ? in_one_order() : random_program(random_, groups_, mismatches_);
    for (size_t i = 0; i < phase.program.calls.size(); ++i)
      adapt(phase.program.calls[i], i);
    return phase;
  }

 private:
  static constexpr size_t groups_max = 6;

  /// A collective with a name matches by it, so each has its own.
  static void adapt(Call& call, size_t index) {
    call.rough = false;  // other tests compare rounded sums
    if (call.reduce == ReduceOp::average) call.compression = Compression::none;
    if (call.reduce == ReduceOp::adasum) call.reduce = ReduceOp::sum;
    if (call.is_message()) return;
    call.odd_by_name = false;
    if (!call.name.empty()) call.name = "n" + std::to_string(index);
  }

  GroupCreation create() {
    GroupCreation creation{.parent = random_.below(groups_.size()),
                           .by_split = random_.percent(50)};
    const SimGroup parent = groups_[creation.parent];
    if (creation.by_split) {
      std::vector<SimGroup> made(2);
      for (const int rank : parent.ranks) {
        creation.colors.push_back(random_.between(-1, 1));
        if (creation.colors.back() >= 0)
          made[static_cast<size_t>(creation.colors.back())].ranks.push_back(rank);
      }
      for (SimGroup& group : made)
        if (!group.ranks.empty()) groups_.push_back(std::move(group));
      return creation;
    }
    for (int rank = 0; rank < parent.size(); ++rank)
      creation.members.push_back(rank);
    for (size_t i = creation.members.size(); i > 1; --i)
      std::swap(creation.members[i - 1], creation.members[random_.below(i)]);
    creation.members.resize(1 + random_.below(creation.members.size()));
    SimGroup group;
    for (const int member : creation.members)
      group.ranks.push_back(parent.job_rank(member));
    groups_.push_back(std::move(group));
    return creation;
  }

  /// Returns calls that no member of a group makes before those that come first in the list.
  Program in_one_order() {
    Program program;
    program.by_rank.resize(groups_[0].ranks.size());
    const size_t count = random_.below(16);
    for (size_t i = 0; i < count; ++i) {
      const size_t index = random_.below(groups_.size());
      const SimGroup& group = groups_[index];
      const CallRange range{.large = random_.percent(20), .mismatches = mismatches_};
      Call call = group.size() > 1 && random_.percent(25)
                      ? random_message(random_, group.size(), range)
                      : random_call(random_, group.size(), range.large);
      const bool odd = mismatches_ && group.size() > 1 && random_.percent(20);
      if (odd && !call.is_message()) call.odd_rank = random_.between(0, group.size() - 1);
      call.group = index;
      for (int member = 0; member < group.size(); ++member)
        if (!call.is_message() || call.from == member || call.to == member)
          program.by_rank[static_cast<size_t>(group.job_rank(member))].push_back({.index = i});
      program.calls.push_back(call);
    }
    return program;
  }

  Random random_;
  std::vector<SimGroup> groups_;
  int phases_ = 1;
  bool mismatches_ = false;
  bool tcp_ = false;
  RandomFault fault_;
};

}  // namespace dt
