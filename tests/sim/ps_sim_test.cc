// Parameter servers and their workers in virtual time. One seed chooses the number of both, delays,
// deaths, departures and changes of the mode. Each message is the encoded form of the real one.
//
// Promise: every push that a worker knows to count has its effect on every server exactly once. A
// push that does not count has none. The last push of a worker that died may have one, once. No
// request of a live worker stays without its reply.

#include "base/format.h"
#include "comm/ps/state/push_turn.h"
#include "comm/ps/state/server_state.h"
#include "tests/sim/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Each gradient. It can be divided by up to four workers, without rounding.
constexpr double unit = 12;

struct SimWorker {
  PsKnowledge knowledge = {};
  std::optional<PushTurn> turn = {};
  std::optional<uint32_t> request = {};  ///< under way, other than those of the turn
  int pushes_left = 0;
  double counted = 0;  ///< the sum of the effects of pushes that counted
  int stale = 0;
  int dropped = 0;  ///< pushes that an error ended
  bool dead = false;
  bool left = false;
};

class PsWorld {
 public:
  explicit PsWorld(uint64_t seed) : seed_(seed), random_(seed) {
    const int worker_count = random_.between(1, 4);
    const int server_count = random_.between(1, 3);
    std::vector<PsWorker> tasks;
    for (int i = 0; i < worker_count; ++i)
      tasks.push_back({.id = {"worker", i}, .host = "a", .takes_part = true});
    observer_ = static_cast<uint32_t>(tasks.size());
    tasks.push_back({.id = {"evaluator", 0}, .host = "a"});
    for (int i = 0; i < server_count; ++i)
      servers_.push_back(std::make_unique<PsServerState>(
          PsServerState::Options{.workers = tasks,
                                 .server = static_cast<uint32_t>(i),
                                 .servers = static_cast<uint32_t>(server_count)}));
    workers_.resize(static_cast<size_t>(worker_count));
    arrivals_.resize(tasks.size() * servers_.size() * 2);
  }

  void run() {
    declare();
    for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
      workers_[worker].pushes_left = random_.between(1, 8);
      after(random_.up_to(milliseconds(5)), [this, worker] { next(worker); });
      if (random_.percent(25))
        after(random_.up_to(milliseconds(60)), [this, worker] { die(worker); });
    }
    while (!events_.empty()) {
      const auto first = events_.begin();
      now_ = first->first.first;
      const std::function<void()> event = std::move(first->second);
      events_.erase(first);
      event();
    }
    check_ended();
    check_values();
  }

  const std::string& complaint() const { return complaint_; }
  int counted_pushes() const { return counted_pushes_; }
  int stale_pushes() const {
    int stale = 0;
    for (const SimWorker& worker : workers_)
      stale += worker.stale;
    return stale;
  }

 private:
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = format("seed {}: {}", seed_, what);
  }
  void after(Duration delay, std::function<void()> event) {
    events_.emplace(std::pair(now_ + delay, next_event_++), std::move(event));
  }
  /// Delivers in the order of sending, as a connection does.
  void send(size_t channel, std::function<void()> event) {
    Time& last = arrivals_[channel];
    last = std::max(last, now_ + random_.up_to(milliseconds(4)));
    events_.emplace(std::pair(last, next_event_++), std::move(event));
  }
  size_t channel(uint32_t worker, uint32_t server, bool back) const {
    return (worker * servers_.size() + server) * 2 + (back ? 1 : 0);
  }

  /// One variable of each server has a number for each worker.
  void declare() {
    for (const auto& server : servers_) {
      DeclareRequest request{.variables = {{.name = "w",
                                            .type = ElementType::float64,
                                            .shape = {workers_.size()},
                                            .optimizer = {.learning_rate = 1}}},
                             .shards = {{.shard = {.rows = workers_.size()}, .initial = {}}},
                             .initializes = true};
      server->handle(observer_, ++last_request_,
                     std::make_shared<const Bytes>(encode(PsRequest(request))));
      static_cast<void>(server->take_deliveries());
    }
  }

  void ask(uint32_t worker, uint32_t server, const PsRequest& request) {
    const uint32_t number = ++last_request_;
    auto body = std::make_shared<const Bytes>(encode(request));
    send(channel(worker, server, false), [this, worker, server, number, body] {
      // A message that was on its way to the server when its sender died may arrive.
      if (closed_.contains({worker, server})) return;
      servers_[server]->handle(worker, number, body);
      deliver(server);
    });
    owners_[number] = {worker, server};
  }

  void deliver(uint32_t server) {
    for (PsDelivery& delivery : servers_[server]->take_deliveries()) {
      auto reply = std::make_shared<const Bytes>(std::move(delivery.reply));
      const uint32_t number = delivery.request;
      if (owners_.at(number) != std::pair(delivery.worker, server))
        return complain("a reply went to another worker");
      send(channel(delivery.worker, server, true),
           [this, number, reply] { received(number, decode_ps_reply(*reply).value()); });
    }
  }

  void received(uint32_t number, const PsReply& reply) {
    const auto [worker, server] = owners_.at(number);
    if (owners_.erase(number) == 0) return complain("a second reply");
    SimWorker& self = workers_.at(worker);
    if (self.dead || self.left) return;
    if (self.request == number) {
      self.request.reset();
      self.knowledge.learn(reply);
      return next(worker);
    }
    if (!self.turn) return;
    const PushTurn::Phase before = self.turn->phase();
    const Result<> taken = self.turn->take(server, reply);
    if (!taken) return failed(worker, taken.error());
    if (self.turn->phase() == PushTurn::Phase::done) return ended(worker);
    // The same phase again would begin with all servers; it never follows itself.
    if (self.turn->phase() != before) send_phase(worker);
  }

  /// Only too few workers for a synchronous step are a reason.
  void failed(uint32_t worker, const Error& error) {
    if (error.code != Errc::peer_lost) return complain(error.message);
    SimWorker& self = workers_[worker];
    self.turn.reset();
    ++self.dropped;
    --self.pushes_left;
    control(worker, ModeRequest{.kind = PsMode::Kind::async});
  }

  void ended(uint32_t worker) {
    SimWorker& self = workers_[worker];
    const PsMode& mode = modes_.at(worker);
    if (self.turn->counted()) {
      ++counted_pushes_;
      self.counted += mode.kind == PsMode::Kind::sync ? unit / mode.count : unit;
    } else {
      ++self.stale;
    }
    self.turn.reset();
    --self.pushes_left;
    after(random_.up_to(milliseconds(worker == 0 ? 10 : 2)), [this, worker] { next(worker); });
  }

  void control(uint32_t worker, const PsRequest& request) {
    ask(worker, 0, request);
    workers_[worker].request = last_request_;
  }

  /// The worker's next action.
  void next(uint32_t worker) {
    SimWorker& self = workers_[worker];
    if (self.dead || self.left || self.turn || self.request) return;
    if (self.pushes_left == 0) return leave(worker);
    if (random_.percent(20)) {
      const auto kind = static_cast<PsMode::Kind>(random_.below(3));
      const size_t most = kind == PsMode::Kind::sync ? workers_.size() : 3;
      return control(worker, ModeRequest{.kind = kind,
                                         .count = static_cast<uint32_t>(random_.below(most + 1))});
    }
    self.turn.emplace(self.knowledge, static_cast<uint32_t>(servers_.size()), random_.percent(80));
    send_phase(worker);
  }

  void send_phase(uint32_t worker) {
    SimWorker& self = workers_[worker];
    const PushTurn& turn = *self.turn;
    std::vector<double> gradient(workers_.size());
    gradient[worker] = unit;
    Bytes values(gradient.size() * sizeof(double));
    std::memcpy(values.data(), gradient.data(), values.size());
    if (turn.phase() == PushTurn::Phase::push) modes_[worker] = self.knowledge.mode;
    const std::set<uint32_t> targets = turn.awaited();
    for (const uint32_t server : targets) {
      if (turn.phase() == PushTurn::Phase::commit) {
        ask(worker, server, turn.commit());
      } else if (turn.phase() == PushTurn::Phase::pull) {
        PullRequest pull = turn.pull();
        pull.pulls = {{.shard = 0}};
        ask(worker, server, pull);
      } else {
        PushRequest push = turn.push();
        push.gradients = {{.shard = 0, .values = values}};
        ask(worker, server, push);
      }
    }
  }

  void leave(uint32_t worker) {
    workers_[worker].left = true;
    end_on_servers(worker, {Notice::Kind::left, {"worker", static_cast<int>(worker)}, ""});
  }
  void die(uint32_t worker) {
    if (workers_[worker].left) return;
    workers_[worker].dead = true;
    end_on_servers(worker, {Notice::Kind::dead, {"worker", static_cast<int>(worker)}, "killed"});
  }
  void end_on_servers(uint32_t worker, const Notice& notice) {
    for (uint32_t server = 0; server < servers_.size(); ++server) {
      after(random_.up_to(milliseconds(8)), [this, worker, server, notice] {
        closed_.insert({worker, server});
        servers_[server]->gone(notice);
        deliver(server);
      });
    }
  }

  void check_ended() {
    for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
      const SimWorker& self = workers_[worker];
      if (!self.dead && !self.left) complain(format("worker {} waits for ever", worker));
    }
  }

  PsReply observe(uint32_t server, const PsRequest& request) {
    servers_[server]->handle(observer_, ++last_request_,
                             std::make_shared<const Bytes>(encode(request)));
    for (PsDelivery& delivery : servers_[server]->take_deliveries()) {
      observed_ = std::move(delivery.reply);
      return decode_ps_reply(observed_).value();
    }
    return {.error = Error{Errc::timeout, "no reply"}};
  }

  void check_values() {
    const PsDecision decision = observe(0, StatusRequest{}).decision;
    for (uint32_t server = 0; server < servers_.size(); ++server) {
      const PsReply reply =
          observe(server, PullRequest{.decision = decision, .pulls = {{.shard = 0}}});
      if (reply.error) return complain(reply.error->message);
      for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
        double value = 0;
        std::memcpy(&value, reply.values.at(0).data() + worker * sizeof value, sizeof value);
        if (!explained(workers_[worker], -value)) {
          complain(format("worker {}: pushes of {} counted, and server {} has {}", worker,
                          workers_[worker].counted, server, -value));
        }
      }
    }
  }
  static bool explained(const SimWorker& worker, double effect) {
    if (effect == worker.counted) return true;
    if (!worker.dead) return false;
    const double last = effect - worker.counted;
    return last == unit || last == unit / 2 || last == unit / 3 || last == unit / 4;
  }

  uint64_t seed_;
  Random random_;
  std::vector<std::unique_ptr<PsServerState>> servers_;
  std::vector<SimWorker> workers_;
  uint32_t observer_ = 0;
  std::map<uint32_t, PsMode> modes_;  ///< of the push that a worker has under way
  Time now_ = Time() + seconds(1000);
  std::map<std::pair<Time, uint64_t>, std::function<void()>> events_;
  uint64_t next_event_ = 0;
  std::vector<Time> arrivals_;  ///< of the last message, by channel
  uint32_t last_request_ = 0;
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> owners_;  ///< worker and server of a request
  std::set<std::pair<uint32_t, uint32_t>> closed_;            ///< connections that have ended
  Bytes observed_;
  std::string complaint_;
  int counted_pushes_ = 0;
};

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST_CASE("every push that counts has its effect on every server, once") {
  const uint64_t one = from_environment("DTRAIN_SIM_SEED", 0);
  const uint64_t first = one > 0 ? one : 1;
  const uint64_t seeds = one > 0 ? 1 : from_environment("DTRAIN_SIM_SEEDS", 1000);
  int counted = 0;
  int stale = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    PsWorld world(seed);
    world.run();
    CHECK_MESSAGE(world.complaint().empty(), world.complaint());
    counted += world.counted_pushes();
    stale += world.stale_pushes();
  }
  // Otherwise the seeds would show little.
  if (seeds < 100) return;
  CHECK(counted > static_cast<int>(seeds));
  CHECK(stale > static_cast<int>(seeds / 10));
}

}  // namespace dt
