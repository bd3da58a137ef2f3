#include "base/format.h"
#include "comm/engine/engine.h"
#include "comm/engine/groups.h"
#include "tests/sim/random.h"
#include "tests/sim/seeds.h"
#include "tests/sim/virtual_link.h"
#include "tests/unit/comm/memory/heap_area.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Ranks that train with a quorum, some of them slowly. Everything comes from a seed.
class QuorumWorld {
 public:
  explicit QuorumWorld(uint64_t seed) : seed_(seed), random_(seed) {
    size_ = random_.between(2, 5);
    steps_ = static_cast<size_t>(random_.between(1, 8));
    const size_t tensors = static_cast<size_t>(random_.between(1, 5));
    for (size_t i = 0; i < tensors; ++i)
      counts_.push_back(random_.percent(20) ? 20'000 : random_.below(5));
    quorum_ = {
        .ranks = static_cast<uint32_t>(random_.between(1, size_)),
        .deadline_ms = random_.percent(40) ? static_cast<uint32_t>(random_.between(1, 60)) : 0,
        .behind_max = static_cast<uint32_t>(random_.between(1, 3)),
        .carries_late = random_.percent(50)};
    constexpr std::array ops = {ReduceOp::sum, ReduceOp::average, ReduceOp::max};
    reduce_ = ops.at(random_.below(ops.size()));
    dies_ = random_.percent(25);
    victim_ = static_cast<int>(random_.below(static_cast<size_t>(size_)));
    connect();
  }

  void run() {
    const Time end = now_ + seconds(120);
    while (complaint_.empty() && !done() && now_ < end) {
      bool moved = strike();
      for (int rank = 0; rank < size_; ++rank)
        if (at(rank).alive) moved |= step(rank);
      if (!moved) now_ = next_time();
    }
    if (!done()) complain("something never ends");
    // The last late calls are still on their way.
    for (int turn = 0; turn < 100; ++turn, now_ += milliseconds(1))
      for (int rank = 0; rank < size_; ++rank)
        if (at(rank).alive) at(rank).engine->step(now_);
    if (!dies_ || !struck_) judge();
  }
  const std::string& complaint() const { return complaint_; }
  bool any_late() const { return any_late_; }

 private:
  using Tensors = std::vector<std::vector<float>>;
  struct Rank {
    std::unique_ptr<Engine> engine;
    std::shared_ptr<Operation> work = nullptr;
    Tensors values = {};
    std::vector<Tensors> results = {};
    std::vector<std::vector<int>> participants = {};
    Duration think_max = {};
    Time next_call = {};
    bool failed = false;
    bool alive = true;
  };

  Rank& at(int rank) { return ranks_[static_cast<size_t>(rank)]; }

  void connect() {
    ranks_.resize(static_cast<size_t>(size_));
    const bool one_host = random_.percent(50);
    const HeapArea area(size_, 4096);
    const HeapArea named(size_, 4096);
    for (int from = 0; from < size_; ++from)
      for (int to = 0; to < size_; ++to)
        wires_[{from, to}] = std::make_shared<Wire>(now_, random_, Wire::Nature{});
    for (int self = 0; self < size_; ++self) {
      std::vector<Engine::Peer> peers(static_cast<size_t>(size_));
      for (int other = 0; other < size_; ++other) {
        Engine::Peer& peer = peers[static_cast<size_t>(other)];
        peer.task = {.id = {"worker", other},
                     .rank = other,
                     .agent = one_host ? 0 : other,
                     .host = format("n{}", other),
                     .addresses = {}};
        if (other != self)
          peer.link = std::make_unique<VirtualLink>(wires_[{self, other}], wires_[{other, self}]);
      }
      at(self).engine = std::make_unique<Engine>(
          Engine::Options{.rank = self,
                          .generation = 1,
                          .shared = one_host ? area.of(self) : nullptr,
                          .named_shared = one_host ? named.of(self) : nullptr},
          std::move(peers));
      at(self).think_max = milliseconds(random_.percent(30) ? 300 : 20);
    }
    strike_at_ = now_ + random_.up_to(milliseconds(500));
  }

  bool strike() {
    if (!dies_ || struck_ || now_ < strike_at_) return false;
    struck_ = true;
    at(victim_).alive = false;
    for (int other = 0; other < size_; ++other)
      if (other != victim_)
        at(other).engine->notice({Notice::Kind::dead, {"worker", victim_}, ""}, now_);
    return true;
  }

  static float contribution(int rank, size_t step, size_t tensor) {
    return static_cast<float>((static_cast<size_t>(rank) * 5 + step * 7 + tensor * 3) % 11);
  }

  bool step(int number) {
    Rank& rank = at(number);
    bool moved = rank.engine->step(now_);
    if (rank.work && rank.work->outcome) {
      moved = true;
      finish(number);
    }
    if (!rank.work && !rank.failed && rank.results.size() < steps_ && now_ >= rank.next_call) {
      moved = true;
      call(number);
    }
    return moved;
  }

  void call(int number) {
    Rank& rank = at(number);
    rank.values.clear();
    OperationRequest request{.kind = OperationKind::all_reduce,
                             .reduce = reduce_,
                             .name = "g",
                             .result = std::make_shared<OperationResult>()};
    for (size_t i = 0; i < counts_.size(); ++i)
      rank.values.emplace_back(counts_[i], contribution(number, rank.results.size(), i));
    for (std::vector<float>& values : rank.values) {
      // The pointers of tensors without elements are not used.
      request.tensors.push_back(
          {.count = values.size(), .input = values.data(), .output = values.data()});
    }
    request.terms = OperationTerms{.quorum = quorum_};
    rank.work = rank.engine->submit(std::move(request), now_);
  }

  void finish(int number) {
    Rank& rank = at(number);
    const auto work = std::exchange(rank.work, nullptr);
    rank.next_call = now_ + random_.up_to(rank.think_max);
    if (!*work->outcome) {
      rank.failed = true;
      if (!struck_) complain("fails: " + work->outcome->error().message);
      return;
    }
    const OperationResult& result = *work->request.result;
    std::vector<int> ranks(result.counts.at(0));
    std::memcpy(ranks.data(), result.data.get(), ranks.size() * sizeof(int));
    rank.participants.push_back(ranks);
    rank.results.push_back(rank.values);
  }

  bool done() const {
    return std::ranges::all_of(ranks_, [&](const Rank& rank) {
      return !rank.alive || rank.failed || (rank.results.size() == steps_ && rank.engine->idle()) ||
             (struck_ && !rank.work);
    });
  }

  Time next_time() const {
    Time next = now_ + seconds(1);
    if (dies_ && !struck_) next = std::min(next, strike_at_);
    for (const auto& [ends, wire] : wires_)
      next = std::min(next, wire->next_event());
    for (const Rank& rank : ranks_) {
      if (!rank.alive) continue;
      next = std::min(next, std::max(rank.engine->next_deadline(), now_ + microseconds(1)));
      if (!rank.work && rank.next_call > now_) next = std::min(next, rank.next_call);
    }
    return std::max(next, now_ + microseconds(1));
  }

  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = format("seed {}: {} ranks, {}", seed_, size_, what);
  }

  void judge() {
    // By rank and tensor: what a rank has carried so far.
    std::vector<std::vector<std::optional<float>>> carried(
        static_cast<size_t>(size_), std::vector<std::optional<float>>(counts_.size()));
    for (size_t step = 0; step < steps_ && complaint_.empty(); ++step) {
      const std::vector<int>& ranks = at(0).participants[step];
      judge_participants(step, ranks);
      for (size_t tensor = 0; tensor < counts_.size(); ++tensor)
        judge_results(step, tensor, expected(step, tensor, ranks, carried));
    }
    for (int rank = 0; rank < size_; ++rank)
      if (!quorum_.carries_late && at(rank).engine->groups().named_entries() > 0)
        complain(format("rank {} keeps entries", rank));
  }

  void judge_participants(size_t step, const std::vector<int>& ranks) {
    for (int rank = 1; rank < size_; ++rank)
      if (at(rank).participants[step] != ranks) complain("ranks disagree about who takes part");
    const size_t enough = step == 0 ? static_cast<size_t>(size_) : quorum_.ranks;
    const bool too_few = ranks.size() < enough && (quorum_.deadline_ms == 0 || step == 0);
    if (ranks.empty() || too_few) complain(format("step {} has too few contributions", step));
    if (ranks.size() < static_cast<size_t>(size_)) any_late_ = true;
  }

  float fold(float left, float right) const {
    return reduce_ == ReduceOp::max ? std::max(left, right) : left + right;
  }

  /// Returns the result of a step, by the contributions in the order of the ranks.
  float expected(size_t step, size_t tensor, const std::vector<int>& ranks,
                 std::vector<std::vector<std::optional<float>>>& carried) const {
    std::optional<float> result;
    for (int rank = 0; rank < size_; ++rank) {
      const bool takes_part = std::ranges::find(ranks, rank) != ranks.end();
      std::optional<float>& before = carried[static_cast<size_t>(rank)][tensor];
      float value = contribution(rank, step, tensor);
      if (before && quorum_.carries_late) value = fold(value, *before);
      before.reset();
      if (!takes_part) {
        before = value;
      } else {
        result = result ? fold(*result, value) : value;
      }
    }
    const auto over = static_cast<float>(ranks.size());
    return reduce_ == ReduceOp::average ? *result / over : *result;
  }

  void judge_results(size_t step, size_t tensor, float wanted) {
    for (int rank = 0; rank < size_; ++rank)
      for (const float value : at(rank).results[step][tensor])
        if (value != wanted)
          return complain(format("step {} has {} instead of {}", step, value, wanted));
  }

  uint64_t seed_;
  Random random_;
  int size_ = 0;
  size_t steps_ = 0;
  std::vector<size_t> counts_;  ///< of the tensors
  Quorum quorum_;
  ReduceOp reduce_ = ReduceOp::sum;
  bool dies_ = false;
  int victim_ = 0;
  bool struck_ = false;
  bool any_late_ = false;
  Time now_ = Time(seconds(10));
  Time strike_at_ = {};
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, std::shared_ptr<Wire>> wires_;
  std::string complaint_;
};

TEST_CASE("steps with a quorum have the same contributions and the same bits on all ranks") {
  const auto [first, seeds] = chosen_seeds();
  uint64_t late = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    QuorumWorld world(seed);
    world.run();
    CHECK_MESSAGE(world.complaint().empty(), world.complaint());
    late += world.any_late() ? 1 : 0;
  }
  if (seeds > 1) CHECK(late > seeds / 5);
}

}  // namespace
}  // namespace dt
