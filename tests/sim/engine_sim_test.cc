#include "comm/engine/groups.h"
#include "tests/sim/call_request.h"
#include "tests/sim/expected_failure.h"
#include "tests/sim/idle.h"
#include "tests/sim/seeds.h"
#include "tests/sim/world.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

namespace dt {

namespace {

constexpr Duration time_limit = seconds(60);

TaskId task_of(int rank) {
  return {"worker", rank};
}

}  // namespace

EngineWorld::EngineWorld(uint64_t seed) : seed_(seed), random_(seed), plan_(make_plan(random_)) {
  connect();
  schedule_fault();
}

void EngineWorld::connect() {
  ranks_.resize(static_cast<size_t>(plan_.size));
  std::vector<std::vector<int>> locals(static_cast<size_t>(plan_.hosts));
  for (int number = 0; number < plan_.size; ++number)
    locals[static_cast<size_t>(plan_.host_of(number))].push_back(number);
  std::vector<HeapArea> areas;
  std::vector<HeapArea> named;
  std::vector<HeapPool> pools;
  for (const std::vector<int>& local : locals) {
    areas.emplace_back(static_cast<int>(local.size()), plan_.slot_bytes);
    named.emplace_back(static_cast<int>(local.size()), plan_.slot_bytes);
    pools.emplace_back(static_cast<int>(local.size()), plan_.slot_bytes);
  }
  for (int from = 0; from < plan_.size; ++from)
    for (int to = 0; to < plan_.size; ++to)
      wires_[{from, to}] = std::make_shared<Wire>(now_, random_, plan_.wires);
  for (int self = 0; self < plan_.size; ++self) {
    std::vector<Engine::Peer> peers(static_cast<size_t>(plan_.size));
    for (int other = 0; other < plan_.size; ++other) {
      Engine::Peer& peer = peers[static_cast<size_t>(other)];
      peer.task = {.id = task_of(other),
                   .rank = other,
                   .agent = plan_.host_of(other),
                   .host = format("n{}", other),
                   .addresses = {}};
      if (other == self) continue;
      peer.link = std::make_unique<VirtualLink>(wires_[{self, other}], wires_[{other, self}]);
      peer.session = session(self, other);
    }
    const auto host = static_cast<size_t>(plan_.host_of(self));
    const auto index = std::ranges::find(locals[host], self) - locals[host].begin();
    const auto of_host = [&](const std::vector<HeapArea>& memories) {
      const bool shares = plan_.host_memory && locals[host].size() > 1;
      return shares ? memories[host].of(static_cast<int>(index)) : nullptr;
    };
    std::shared_ptr<AreaPool> pool;
    if (plan_.host_memory) pool = pools[host].of(static_cast<int>(index), plan_.group_areas);
    rank(self).engine =
        std::make_unique<Engine>(Engine::Options{.rank = self,
                                                 .dead_after = plan_.dead_after,
                                                 .generation = 1,
                                                 .shared = of_host(areas),
                                                 .named_shared = of_host(named),
                                                 .pool = pool,
                                                 .host_memory = plan_.host_memory,
                                                 .unasked_bytes_max = plan_.unasked_bytes_max},
                                 std::move(peers));
    rank(self).in_group.resize(plan_.groups.size());
    rank(self).next_submit = now_ + random_.up_to(plan_.think_max);
  }
}

/// Returns a session whose frames have MACs, as over TCP. The keys need no secret here: the point
/// is that the engine runs the same code.
std::unique_ptr<Session> EngineWorld::session(int self, int other) const {
  if (!plan_.sealed) return nullptr;
  const auto key = [](int from, int to) {
    Digest digest = {};
    digest[0] = static_cast<std::byte>(from);
    digest[1] = static_cast<std::byte>(to);
    return digest;
  };
  return std::make_unique<Session>(key(self, other), key(other, self));
}

void EngineWorld::schedule_fault() {
  if (plan_.fault != Fault::none) at(now_ + plan_.fault_at, [this] { strike(); });
}

void EngineWorld::strike() {
  Rank& victim = rank(plan_.victim);
  switch (plan_.fault) {
    case Fault::none:
    case Fault::hurry:
      return;
    case Fault::death:
      return end_task(plan_.victim, Notice::Kind::dead);
    case Fault::leave:
      return leave(plan_.victim);
    case Fault::link_break:
      wire(plan_.victim, plan_.other).break_now();
      wire(plan_.other, plan_.victim).break_now();
      return;
    case Fault::silence:
      wire(plan_.victim, plan_.other).silence();
      wire(plan_.other, plan_.victim).silence();
      return;
    case Fault::slow_user:
      victim.next_submit += seconds(20);
      return;
    case Fault::launcher_lost:
      if (victim.alive) victim.engine->launcher_lost(now_);
      return;
    case Fault::leave_group:
      left_ = true;
      if (victim.alive && victim.in_group[plan_.left_group])
        leave_group(plan_.victim, plan_.left_group);
      return;
  }
}

/// Ends a task: its engine never steps again. The others get a notice, sooner or later than the end
/// of its links.
void EngineWorld::end_task(int number, Notice::Kind kind) {
  if (!rank(number).alive) return;
  rank(number).alive = false;
  if (kind == Notice::Kind::left || random_.percent(50)) end_links(number);
  notify_others(number, kind);
}

void EngineWorld::end_links(int number) {
  for (int other = 0; other < plan_.size; ++other) {
    if (other == number) continue;
    wire(number, other).end_after(random_.up_to(milliseconds(20)));
    wire(other, number).end_after(random_.up_to(milliseconds(20)));
  }
}

void EngineWorld::notify_others(int number, Notice::Kind kind) {
  for (int other = 0; other < plan_.size; ++other) {
    if (other == number) continue;
    const std::string cause = kind == Notice::Kind::dead ? "killed by SIGKILL" : "";
    Time& when = rank(other).last_notice;
    when = std::max(when, now_ + random_.up_to(milliseconds(100)));
    at(when, [this, number, other, kind, cause] {
      if (rank(other).alive) rank(other).engine->notice({kind, task_of(number), cause}, now_);
    });
  }
}

/// A rank leaves: its process ends, or it finalizes, and its process lives on.
void EngineWorld::leave(int number) {
  Rank& user = rank(number);
  if (!user.alive || user.closing) return;
  if (random_.percent(50)) return end_task(number, Notice::Kind::left);
  user.engine->close();
  user.closing = now_ + seconds(1);
}

/// The rank sends what is queued. Without a notice, the others learn by this that it has left.
bool EngineWorld::step_closing(int number) {
  Rank& user = rank(number);
  const bool moved = user.engine->step(now_);
  if (!user.engine->idle() && now_ < *user.closing) return moved;
  user.alive = false;
  end_links(number);
  if (!user.engine->idle()) notify_others(number, Notice::Kind::left);
  return true;
}

void EngineWorld::run() {
  const Time end = now_ + time_limit;
  while (complaint_.empty()) {
    bool moved = run_events();
    for (int number = 0; number < plan_.size; ++number) {
      if (!rank(number).alive) continue;
      if (rank(number).closing) {
        moved |= step_closing(number);
        continue;
      }
      moved |= step_user(number);
      moved |= rank(number).engine->step(now_);
      moved |= collect(number);
      maybe_leave(number);
    }
    if (all_ranks_finished()) return;
    if (moved) continue;
    if (at_rest()) {
      rest();
      continue;
    }
    now_ = next_time();
    if (now_ > end) break;
  }
  for (int number = 0; number < plan_.size && complaint_.empty(); ++number)
    if (rank(number).alive && !rank(number).running.empty())
      complain(number, rank(number).running.front(), "never ends");
  if (complaint_.empty()) complaint_ = format("seed {}: the run never ends", seed_);
}

bool EngineWorld::run_events() {
  bool moved = false;
  while (!events_.empty() && events_.begin()->first <= now_) {
    const std::function<void()> event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    event();
    moved = true;
  }
  return moved;
}

bool EngineWorld::step_user(int number) {
  Rank& user = rank(number);
  const auto& actions = plan_.program.by_rank[static_cast<size_t>(number)];
  bool moved = false;
  while (user.next_action < actions.size() && user.next_submit <= now_) {
    const Program::Action& action = actions[user.next_action++];
    action.creates ? create_group(number, action.index) : submit(number, action.index);
    user.next_submit = now_ + random_.up_to(plan_.think_max);
    moved = true;
  }
  return moved;
}

void EngineWorld::create_group(int number, size_t index) {
  Rank& user = rank(number);
  const SimGroup& group = plan_.groups[index];
  if (user.engine->groups().next_number() > group.number && user.engine->aborted() == nullptr)
    complaint_ = format("seed {}: group {} is not new to rank {}", seed_, group.number, number);
  // The members of a real group exchange their places before any of them makes it.
  if (!places_.contains(index))
    for (const int member : group.ranks)
      places_[index].push_back(rank(member).engine->groups().reserve_place());
  user.engine->groups().create(group.number, {group.ranks, places_[index]}, now_);
  user.in_group[index] = true;
  const bool left = left_ && number == plan_.victim && index == plan_.left_group;
  if (left) leave_group(number, index);
}

void EngineWorld::leave_group(int number, size_t index) {
  rank(number).engine->leave_group(plan_.groups[index].number);
  rank(number).in_group[index] = false;
}

void EngineWorld::submit(int number, size_t index) {
  const Call& original = plan_.program.calls[index];
  const SimGroup& group = group_of(original);
  const int self = group.rank_of(number);
  const Call call = original.odd_rank == self ? odd_call(original, index) : original;
  Running running{.call = index, .operation = nullptr, .input = nullptr, .output = nullptr};
  running.input = std::make_unique<Bytes>(input_bytes(call, self, group.size()));
  running.output =
      std::make_unique<Bytes>(output_count(call, group.size()) * element_bytes(call.type));
  const bool in_place = may_be_in_place(call.kind) && random_.percent(50);
  OperationRequest request = request_of(call, self, group.size(), running.input->data(),
                                        in_place ? running.input->data() : running.output->data());
  request.group = group.number;
  request.timeout = timeout_of(number, call.group);
  running.operation = rank(number).engine->submit(request, now_);
  if (in_place) std::swap(running.input, running.output);
  rank(number).running.push_back(std::move(running));
}

Duration EngineWorld::timeout_of(int number, size_t group) {
  if (plan_.tight_timeouts && plan_.limited[group]) return milliseconds(random_.between(20, 500));
  if (plan_.is_in_a_hurry(number) && plan_.limited[group])
    return milliseconds(random_.between(1, 60));
  // The slow user sleeps for longer than these, so calls that others wait in have none then.
  const bool generous = plan_.generous_timeouts && plan_.fault != Fault::slow_user;
  return generous ? seconds(10) : Duration::zero();
}

/// Judges the operations that have ended and frees their buffers. A sanitizer then reports an
/// engine that still uses a buffer.
bool EngineWorld::collect(int number) {
  return std::erase_if(rank(number).running, [&](const Running& running) {
           if (!running.operation->outcome) return false;
           judge(number, running);
           return true;
         }) > 0;
}

void EngineWorld::maybe_leave(int number) {
  Rank& user = rank(number);
  const auto& actions = plan_.program.by_rank[static_cast<size_t>(number)];
  if (user.next_action < actions.size() || !user.running.empty()) return;
  const bool waits = plan_.rests && !rested_;
  if (!user.finished) user.finished = now_ + seconds(waits ? 5 : 1);
  if ((user.engine->idle() && !waits) || *user.finished <= now_) leave(number);
}

bool EngineWorld::all_ranks_finished() const {
  return std::none_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.alive; });
}

/// True when no rank will make a call, and nothing is under way.
bool EngineWorld::at_rest() const {
  if (!plan_.rests || rested_ || !events_.empty()) return false;
  for (const auto& [ends, wire] : wires_)
    if (wire->next_event() != Time::max()) return false;
  for (size_t number = 0; number < ranks_.size(); ++number) {
    const Rank& user = ranks_[number];
    if (!user.alive) continue;
    if (user.closing || !user.finished || !user.engine->idle()) return false;
    // After a fault, an engine may still wait for a rank that is lost.
    if (plan_.fault != Fault::none && user.engine->next_deadline() != Time::max()) return false;
  }
  return true;
}

void EngineWorld::rest() {
  rested_ = true;
  std::vector<Engine*> engines;
  for (const Rank& user : ranks_)
    engines.push_back(user.alive ? user.engine.get() : nullptr);
  const std::string broken = judge_idle(engines, now_, [this] { return bytes_sent(); });
  if (broken.empty()) return;
  complaint_ = format("seed {} (fault {}, victim {}, {} ranks): {}", seed_,
                      static_cast<int>(plan_.fault), plan_.victim, plan_.size, broken);
}

size_t EngineWorld::bytes_sent() const {
  size_t sent = 0;
  for (const auto& [ends, wire] : wires_)
    sent += wire->sent();
  return sent;
}

Time EngineWorld::next_time() const {
  Time next = events_.empty() ? Time::max() : events_.begin()->first;
  for (const auto& [ends, wire] : wires_)
    next = std::min(next, wire->next_event());
  for (size_t number = 0; number < ranks_.size(); ++number) {
    const Rank& user = ranks_[number];
    if (!user.alive) continue;
    // A deadline that is due but moves nothing would stop the clock.
    next = std::min(next, std::max(user.engine->next_deadline(), now_ + microseconds(1)));
    if (user.closing) {
      next = std::min(next, std::max(*user.closing, now_ + microseconds(1)));
      continue;
    }
    if (user.next_action < plan_.program.by_rank[number].size())
      next = std::min(next, user.next_submit);
    if (user.finished) next = std::min(next, std::max(*user.finished, now_ + microseconds(1)));
  }
  return next;
}

void EngineWorld::judge(int number, const Running& running) {
  if (running.operation->outcome->has_value()) {
    judge_success(number, running);
  } else {
    judge_failure(number, running);
  }
}

void EngineWorld::judge_success(int number, const Running& running) {
  const Call& call = call_of(running);
  const SimGroup& group = group_of(call);
  const int self = group.rank_of(number);
  // Once a receive has timed out, the next receive gets its message: the result may be another's.
  if (call.is_message() && (plan_.timeouts_strike(call.group) || call.from == self)) return;
  if (call.odd_rank >= 0) return complain(number, running, "succeeds although one differs");
  if (call.needs_joined()) return complain(number, running, "succeeds without a rank it needs");
  if (call.kind == OperationKind::join) return judge_join(number, running);
  if (!has_output(call, self)) return;
  if (!call.rough) {
    if (!has_right_result(call, self, group.size(), running.operation->request, *running.output))
      complain(number, running, "has a wrong result");
    return;
  }
  const int part = call.kind == OperationKind::reduce_scatter ? self : 0;
  // In place, the buffer of a reduce_scatter is longer than its result.
  Bytes result = *running.output;
  result.resize(output_count(call, group.size()) * element_bytes(call.type));
  const auto [first, is_first] = rough_results_.emplace(std::pair(running.call, part), result);
  if (first->second != result) complain(number, running, "has other bits than a rank before");
}

void EngineWorld::judge_join(int number, const Running& running) {
  const OperationResult& result = *running.operation->request.result;
  const Bytes last(result.data.get(), result.data.get() + sizeof(int32_t));
  const auto [first, is_first] = last_joined_.emplace(running.call, last);
  if (first->second != last) complain(number, running, "has another last rank than a rank before");
}

void EngineWorld::judge_failure(int number, const Running& running) {
  const Call& call = call_of(running);
  const Error& error = running.operation->outcome->error();
  if (error.code == Errc::mismatch) return judge_mismatch(number, running);
  if (!fault_concerns(plan_, call) || !may_fail_with(plan_, number, error))
    complain(number, running, "fails without a reason");
}

void EngineWorld::judge_mismatch(int number, const Running& running) {
  const Call& call = call_of(running);
  const SimGroup& group = group_of(call);
  const std::string& text = running.operation->outcome->error().message;
  if (call.is_message() && plan_.timeouts_strike(call.group)) return;
  if (call.needs_joined()) {
    if (!has_text(text, " joined, and ")) complain(number, running, "names no joined rank");
    return;
  }
  if (call.odd_rank < 0) return complain(number, running, "is called a mismatch");
  const int odd = group.job_rank(call.odd_rank);
  if (call.is_message()) {
    if (!has_text(text, format("rank {} ", group.job_rank(call.from))) ||
        !has_text(text, format("rank {} ", odd)))
      complain(number, running, "does not name its two ranks");
    return;
  }
  const auto [first, is_first] = mismatch_texts_.emplace(running.call, text);
  if (first->second != text) complain(number, running, "has two texts");
  const bool named =
      running.operation->blamed_rank == odd && has_text(text, format(": rank {} ", odd));
  if (group.size() > 2 && !named) complain(number, running, "does not name the odd rank");
}

void EngineWorld::complain(int number, const Running& running, const std::string& what) {
  if (!complaint_.empty()) return;
  const Operation& operation = *running.operation;
  complaint_ = format(
      "seed {} (fault {}, victim {}, {} ranks): call {} (group {}, kind {}, count {}) on "
      "rank {} {}",
      seed_, static_cast<int>(plan_.fault), plan_.victim, plan_.size, running.call,
      call_of(running).group, static_cast<int>(operation.request.kind), operation.request.count,
      number, what);
  if (operation.outcome && !*operation.outcome)
    complaint_ += ": " + operation.outcome->error().message;
}

TEST_CASE("every operation on every live rank ends with the right result or a named error") {
  const auto [first, seeds] = chosen_seeds();
  uint64_t rested = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    EngineWorld world(seed);
    world.run();
    CHECK_MESSAGE(world.complaint().empty(), world.complaint());
    rested += world.rested() ? 1 : 0;
  }
  if (seeds > 1) CHECK(rested > seeds / 5);
}

}  // namespace dt
