#include "base/format.h"
#include "comm/engine/engine.h"
#include "tests/sim/random.h"
#include "tests/sim/seeds.h"
#include "tests/sim/virtual_link.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {
namespace {

enum class Mishap : uint8_t { none, odd_list, hurry, leave, death };

/// A group that its members make, and sum over.
struct PlannedGroup {
  std::vector<int> members;
  std::map<int, std::vector<int>> odd = {};  ///< the lists of ranks that give another one
};

/// Ranks that make groups alone, at random times, and use each of them once. Everything comes from
/// a seed.
class GroupWorld {
 public:
  explicit GroupWorld(uint64_t seed) : seed_(seed), random_(seed) {
    size_ = random_.between(2, 6);
    mishap_ = static_cast<Mishap>(random_.percent(40) ? 0 : random_.between(1, 4));
    victim_ = static_cast<int>(random_.below(static_cast<size_t>(size_)));
    make_plan();
    connect();
  }

  void run() {
    const Time end = now_ + seconds(60);
    while (complaint_.empty() && !done() && now_ < end) {
      bool moved = strike();
      for (int rank = 0; rank < size_; ++rank)
        if (at(rank).alive) moved |= step(rank);
      if (!moved) now_ = next_time();
    }
    if (!done()) complain("something never ends");
    judge();
  }
  const std::string& complaint() const { return complaint_; }
  Mishap mishap() const { return mishap_; }

 private:
  using Work = std::shared_ptr<Operation>;
  struct Rank {
    std::unique_ptr<Engine> engine;
    std::vector<size_t> plan = {};  ///< the groups that it makes
    size_t next = 0;
    Work making = nullptr;
    Work summing = nullptr;
    float sum = 0;
    Time next_call = {};
    bool alive = true;
  };

  Rank& at(int rank) { return ranks_[static_cast<size_t>(rank)]; }

  void make_plan() {
    ranks_.resize(static_cast<size_t>(size_));
    const int groups = random_.between(1, 5);
    for (int made = 0; made < groups; ++made) {
      // The last rank is in no group, so that it shows what groups cost others.
      std::vector<int> members;
      for (int rank = 0; rank + 1 < size_; ++rank)
        if (random_.percent(65)) members.push_back(rank);
      if (members.empty()) members.push_back(0);
      for (size_t i = members.size(); i > 1; --i)
        std::swap(members[i - 1], members[random_.below(i)]);
      plan_.push_back({members});
    }
    if (mishap_ == Mishap::odd_list) spoil(plan_[random_.below(plan_.size())]);
    for (size_t index = 0; index < plan_.size(); ++index)
      for (const int rank : plan_[index].members)
        at(rank).plan.push_back(index);
  }

  /// One member gives another list.
  void spoil(PlannedGroup& group) {
    const auto copies = std::ranges::count(plan_, group.members, &PlannedGroup::members);
    if (group.members.size() < 2 || copies > 1) return;
    const int odd = group.members[random_.below(group.members.size())];
    std::vector<int> list = group.members;
    if (list.size() == 2 || random_.percent(50)) {
      std::swap(list.front(), list.back());
    } else {
      std::erase(list, list.front() == odd ? list.back() : list.front());
    }
    const bool is_other = std::ranges::find(plan_, list, &PlannedGroup::members) != plan_.end();
    if (!is_other) group.odd[odd] = list;
  }

  void connect() {
    for (int from = 0; from < size_; ++from)
      for (int to = 0; to < size_; ++to)
        wires_[{from, to}] = std::make_shared<Wire>(now_, random_, Wire::Nature{});
    for (int self = 0; self < size_; ++self) {
      std::vector<Engine::Peer> peers(static_cast<size_t>(size_));
      for (int other = 0; other < size_; ++other) {
        Engine::Peer& peer = peers[static_cast<size_t>(other)];
        peer.task = {.id = {"worker", other},
                     .rank = other,
                     .agent = other,
                     .host = format("n{}", other),
                     .addresses = {}};
        if (other != self)
          peer.link = std::make_unique<VirtualLink>(wires_[{self, other}], wires_[{other, self}]);
      }
      at(self).engine = std::make_unique<Engine>(
          Engine::Options{.rank = self, .dead_after = milliseconds(500), .generation = 1},
          std::move(peers));
      at(self).next_call = now_ + random_.up_to(milliseconds(300));
    }
    strike_at_ = now_ + random_.up_to(milliseconds(400));
  }

  /// A rank dies, or leaves the job.
  bool strike() {
    if (struck_ || now_ < strike_at_) return false;
    struck_ = true;
    if (mishap_ != Mishap::leave && mishap_ != Mishap::death) return false;
    at(victim_).alive = false;
    for (int other = 0; other < size_; ++other) {
      if (other == victim_) continue;
      wires_[{victim_, other}]->end_after(random_.up_to(milliseconds(20)));
      wires_[{other, victim_}]->end_after(random_.up_to(milliseconds(20)));
      const auto kind = mishap_ == Mishap::death ? Notice::Kind::dead : Notice::Kind::left;
      at(other).engine->notice({kind, {"worker", victim_}, ""}, now_);
    }
    return true;
  }

  bool step(int number) {
    Rank& rank = at(number);
    bool moved = rank.engine->step(now_);
    if (rank.making && rank.making->outcome) {
      moved = true;
      const Work made = std::exchange(rank.making, nullptr);
      finish(number, *made);
    }
    if (rank.summing && rank.summing->outcome) {
      moved = true;
      sums_[rank.plan[rank.next]].push_back(*rank.summing->outcome ? rank.sum : -1);
      rank.summing = nullptr;
      ++rank.next;
    }
    const bool free = !rank.making && !rank.summing;
    if (free && rank.next < rank.plan.size() && now_ >= rank.next_call) {
      call(number);
      moved = true;
    }
    return moved;
  }

  void call(int number) {
    Rank& rank = at(number);
    const PlannedGroup& group = plan_[rank.plan[rank.next]];
    const auto odd = group.odd.find(number);
    OperationRequest request{.kind = OperationKind::group,
                             .members = odd == group.odd.end() ? group.members : odd->second,
                             .result = std::make_shared<OperationResult>()};
    // With an error, ranks may wait for calls that never come.
    if (mishap_ != Mishap::none) request.timeout = seconds(2);
    if (mishap_ == Mishap::hurry && number == victim_)
      request.timeout = milliseconds(random_.between(1, 60));
    rank.making = rank.engine->submit(std::move(request), now_);
  }

  /// The rank uses its new group, or notes why there is none.
  void finish(int number, const Operation& made) {
    Rank& rank = at(number);
    const size_t index = rank.plan[rank.next];
    rank.next_call = now_ + random_.up_to(milliseconds(200));
    if (!*made.outcome) {
      errors_[index].push_back(made.outcome->error());
      ++rank.next;
      return;
    }
    uint32_t value = 0;
    std::memcpy(&value, made.request.result->data.get(), sizeof value);
    numbers_[index].push_back(value);
    rank.sum = 1;
    rank.summing =
        rank.engine->submit({.kind = OperationKind::all_reduce,
                             .group = value,
                             .count = 1,
                             .input = &rank.sum,
                             .output = &rank.sum,
                             .timeout = mishap_ == Mishap::none ? Duration::zero() : seconds(5)},
                            now_);
  }

  bool done() const {
    return std::ranges::all_of(ranks_, [](const Rank& rank) {
      return !rank.alive || (rank.next == rank.plan.size() && rank.engine->idle());
    });
  }

  Time next_time() const {
    Time next = now_ + seconds(1);
    if (!struck_) next = std::min(next, strike_at_);
    for (const auto& [ends, wire] : wires_)
      next = std::min(next, wire->next_event());
    for (const Rank& rank : ranks_) {
      if (!rank.alive) continue;
      next = std::min(next, std::max(rank.engine->next_deadline(), now_ + microseconds(1)));
      if (rank.next < rank.plan.size() && rank.next_call > now_)
        next = std::min(next, rank.next_call);
    }
    return std::max(next, now_ + microseconds(1));
  }

  void complain(const std::string& what) {
    if (complaint_.empty())
      complaint_ = format("seed {}, mishap {}, victim {} of {}: {}", seed_,
                          static_cast<int>(mishap_), victim_, size_, what);
  }

  void judge() {
    for (size_t index = 0; index < plan_.size(); ++index)
      judge_group(index);
    // The rank outside all groups.
    size_t bytes = 0;
    for (int other = 0; other + 1 < size_; ++other)
      bytes += wires_[{size_ - 1, other}]->sent() + wires_[{other, size_ - 1}]->sent();
    if (bytes > 0 && mishap_ != Mishap::leave) complain("groups cost a rank outside");
  }

  void judge_group(size_t index) {
    const PlannedGroup& group = plan_[index];
    const std::vector<uint32_t>& numbers = numbers_[index];
    const auto other = std::ranges::adjacent_find(numbers, std::not_equal_to<>());
    // After an error, ranks may be at different groups of one list.
    const bool one_list = std::ranges::count(plan_, group.members, &PlannedGroup::members) == 1;
    if (other != numbers.end() && (one_list || mishap_ == Mishap::none))
      complain(format("group {} has two numbers", index));
    const bool well = errors_[index].empty();
    if (mishap_ == Mishap::none && !well) complain("fails: " + errors_[index].front().message);
    if (mishap_ == Mishap::odd_list && !group.odd.empty()) judge_odd(index);
    if (mishap_ == Mishap::odd_list && group.odd.empty()) judge_beside_odd(index);
    if (mishap_ != Mishap::none && mishap_ != Mishap::odd_list) return;
    for (const float sum : sums_[index])
      if (sum != static_cast<float>(group.members.size()))
        complain(format("group {} has a wrong sum", index));
  }

  /// A rank that is slow to fail may meet the others at their next groups, which then fail as well.
  void judge_beside_odd(size_t index) {
    const bool behind =
        std::any_of(plan_.begin(), plan_.begin() + static_cast<std::ptrdiff_t>(index),
                    [](const PlannedGroup& before) { return !before.odd.empty(); });
    for (const Error& error : errors_[index])
      if (!behind || error.code != Errc::mismatch)
        complain("fails beside an odd one: " + error.message);
  }

  /// All ranks learn that the lists differ, before any time limit.
  void judge_odd(size_t index) {
    if (!numbers_[index].empty()) complain("a group of different lists was made");
    for (const Error& error : errors_[index])
      if (error.code != Errc::mismatch) complain("is no mismatch: " + error.message);
  }

  uint64_t seed_;
  Random random_;
  int size_ = 0;
  Mishap mishap_ = Mishap::none;
  int victim_ = 0;
  Time now_ = Time(seconds(10));
  Time strike_at_ = {};
  bool struck_ = false;
  std::vector<PlannedGroup> plan_;
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, std::shared_ptr<Wire>> wires_;
  std::map<size_t, std::vector<uint32_t>> numbers_;
  std::map<size_t, std::vector<float>> sums_;
  std::map<size_t, std::vector<Error>> errors_;
  std::string complaint_;
};

TEST_CASE("groups that members make alone are the same on all of them, or named errors") {
  const auto [first, seeds] = chosen_seeds();
  uint64_t well = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    GroupWorld world(seed);
    world.run();
    CHECK_MESSAGE(world.complaint().empty(), world.complaint());
    well += world.mishap() == Mishap::none ? 1 : 0;
  }
  if (seeds > 1) CHECK(well > seeds / 5);
}

}  // namespace
}  // namespace dt
