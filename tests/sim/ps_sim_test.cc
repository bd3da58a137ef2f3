// Parameter servers and their workers in virtual time. One seed chooses the number of both, copies
// of the variables, and delays. It also chooses deaths, restarts of workers, departures and changes
// of the mode.
//
// Promise: every push that a worker knows to count has its effect on every server exactly once. A
// push that does not count has none. The last push of an attempt that died may have one, once. No
// request of a live worker stays without its reply. A restarted worker is never refused. Two copies
// of a part are equal, and all this holds also after the death of a server.

#include "base/format.h"
#include "comm/training/ps/state/push_turn.h"
#include "tests/sim/ps_cluster.h"
#include "tests/sim/random.h"
#include "tests/sim/seeds.h"
#include "tests/sim/virtual_events.h"

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
constexpr uint32_t attempts_max = 3;

/// A request without its reply.
struct SimRequest {
  uint32_t number = 0;
  std::shared_ptr<const Bytes> body;
};

struct SimWorker {
  PsServers servers = {};  ///< as this worker knows
  PsKnowledge knowledge = {};
  std::optional<PushTurn> turn = {};
  std::map<uint32_t, SimRequest> requests = {};  ///< under way, by part
  std::map<uint32_t, uint32_t> attaching = {};   ///< numbers of requests, by part
  std::optional<uint32_t> control = {};          ///< under way, other than those of the turn
  int pushes_left = 0;
  size_t round_size = 0;  ///< workers of the round of the last commit
  double counted = 0;     ///< the sum of the effects of pushes that counted
  int stale = 0;
  int dropped = 0;  ///< pushes that an error ended
  uint32_t attempt = first_attempt;
  int deaths = 0;
  bool dead = false;
  bool left = false;
  bool abandoned = false;  ///< no copy of a part is left
  bool ended() const { return dead || left || abandoned; }
};

class PsWorld {
 public:
  explicit PsWorld(uint64_t seed)
      : seed_(seed), events_(seed), random_(events_.random()), options_(draw(random_)) {
    cluster_.emplace(events_, options_,
                     [this](uint32_t server, uint32_t part, PsDelivery delivery) {
                       reply(server, part, std::move(delivery));
                     });
    observer_ = static_cast<uint32_t>(options_.tasks.size() - 1);
    workers_.resize(options_.tasks.size() - 1);
    for (SimWorker& worker : workers_)
      worker.servers = options_.servers;
  }

  void run() {
    // Replicas get variables as inputs, or as a checkpoint.
    const bool early = random_.percent(50);
    if (early) cluster_->start_replicas();
    declare();
    if (!early) cluster_->start_replicas();
    events_.run();
    for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
      for (uint32_t part = 0; part < servers(); ++part)
        attach(worker, part);
      workers_[worker].pushes_left = random_.between(1, 8);
      events_.after(random_.up_to(milliseconds(5)), [this, worker] { next(worker); });
      if (random_.percent(25))
        events_.after(random_.up_to(milliseconds(60)), [this, worker] { die(worker); });
    }
    for (uint32_t server = 0; server < servers() && options_.servers.copies == 2; ++server) {
      if (random_.percent(30))
        events_.after(random_.up_to(milliseconds(60)), [this, server] { server_dies(server); });
    }
    events_.run();
    check_ended();
    check_values();
    if (!cluster_->complaint().empty()) complain(cluster_->complaint());
  }

  const std::string& complaint() const { return complaint_; }
  int counted_pushes() const { return counted_pushes_; }
  int take_overs() const { return cluster_->take_overs(); }
  int repeated() const { return repeated_; }
  int restarts() const { return restarts_; }
  /// Requests of restarted workers to servers that have taken over.
  int rejoined() const { return rejoined_; }
  int stale_pushes() const {
    int stale = 0;
    for (const SimWorker& worker : workers_)
      stale += worker.stale;
    return stale;
  }

 private:
  static PsCluster::Options draw(Random& random) {
    PsCluster::Options options;
    const int worker_count = random.between(1, 4);
    options.servers.count = static_cast<uint32_t>(random.between(1, 4));
    if (options.servers.count > 1 && random.percent(60)) options.servers.copies = 2;
    for (int i = 0; i < worker_count; ++i)
      options.tasks.push_back({.id = {"worker", i}, .host = "a", .takes_part = true});
    options.tasks.push_back({.id = {"evaluator", 0}, .host = "a"});
    return options;
  }
  uint32_t servers() const { return options_.servers.count; }
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = format("seed {}: {}", seed_, what);
  }

  /// Each part has a number for each worker, and numbers of an optimiser.
  void declare() {
    const VariableSpec sum{.name = "w",
                           .type = ElementType::float64,
                           .shape = {workers_.size()},
                           .optimizer = {.learning_rate = 1}};
    const VariableSpec other{
        .name = "v", .shape = {workers_.size()}, .optimizer = {.kind = OptimizerKind::adam}};
    for (uint32_t part = 0; part < servers(); ++part) {
      const DeclareRequest request{
          .variables = {sum, other},
          .shards = {{.shard = {.rows = workers_.size()}, .initial = {}},
                     {.shard = {.number = 1, .variable = 1, .rows = workers_.size()},
                      .initial = {}}},
          .initializes = true};
      ask_as_observer(part, request);
    }
  }
  void ask_as_observer(uint32_t part, const PsRequest& request) {
    const auto body = std::make_shared<const Bytes>(encode(request));
    const uint32_t head = cluster_->ring().head(part).value();
    cluster_->arrived(head, part, {observer_, ++last_request_, body, *body});
  }

  /// Sends over the worker's connection to the part's server.
  void send(uint32_t worker, uint32_t part, const SimRequest& request) {
    const uint32_t server = workers_[worker].servers.head(part).value();
    events_.send(format("{} to {} at {}", worker, part, server),
                 [this, worker, part, server, request, attempt = workers_[worker].attempt] {
                   cluster_->arrived(
                       server, part,
                       {worker, request.number, request.body, *request.body, attempt});
                 });
  }
  SimRequest made(const PsRequest& request) {
    return {++last_request_, std::make_shared<const Bytes>(encode(request))};
  }
  void ask(uint32_t worker, uint32_t part, const PsRequest& request) {
    const SimRequest sent = made(request);
    workers_[worker].requests[part] = sent;
    // While a connection is new, the request follows the reply to its first one.
    if (!workers_[worker].attaching.contains(part)) send(worker, part, sent);
  }
  void attach(uint32_t worker, uint32_t part) {
    const uint64_t session = worker * uint64_t{attempts_max} + workers_[worker].attempt;
    const SimRequest first =
        made(AttachRequest{.part = part, .copies = options_.servers.copies, .session = session});
    workers_[worker].attaching[part] = first.number;
    send(worker, part, first);
  }

  void reply(uint32_t server, uint32_t part, PsDelivery delivery) {
    if (delivery.worker == observer_) {
      observed_ = delivery.reply.joined();
      return;
    }
    const uint32_t worker = delivery.worker;
    auto body = std::make_shared<const Bytes>(delivery.reply.joined());
    events_.send(
        format("{} from {} at {}", worker, part, server),
        [this, server, worker, part, number = delivery.request, attempt = delivery.attempt, body] {
          const SimWorker& self = workers_[worker];
          if (attempt < self.attempt) return;
          // A connection to a server that is known to be dead is closed.
          if (self.ended() || self.servers.head(part) != server) return;
          received({worker, part, number}, decode_ps_reply(*body).value());
        });
  }

  struct Origin {
    uint32_t worker = 0;
    uint32_t part = 0;
    uint32_t number = 0;
  };
  void received(const Origin& from, const PsReply& reply) {
    SimWorker& self = workers_.at(from.worker);
    const auto attaching = self.attaching.find(from.part);
    if (attaching != self.attaching.end() && attaching->second == from.number) {
      self.attaching.erase(attaching);
      if (reply.error) return complain(reply.error->message);
      const auto waiting = self.requests.find(from.part);
      if (waiting == self.requests.end()) return;
      if (cluster_->dead(from.part)) ++(self.attempt > first_attempt ? rejoined_ : repeated_);
      return send(from.worker, from.part, waiting->second);
    }
    const auto request = self.requests.find(from.part);
    if (request == self.requests.end() || request->second.number != from.number) {
      // Both the first sending of a request and its repetition may be answered.
      if (!cluster_->dead(from.part)) complain("a second reply");
      return;
    }
    self.requests.erase(request);
    if (self.control == from.number) {
      self.control.reset();
      self.knowledge.learn(reply);
      return next(from.worker);
    }
    if (!self.turn) return;
    const PushTurn::Phase before = self.turn->phase();
    const Result<> taken = self.turn->take(from.part, reply);
    if (!taken) return failed(from.worker, taken.error());
    if (before == PushTurn::Phase::commit) self.round_size = self.knowledge.decision.workers.size();
    if (self.turn->phase() == PushTurn::Phase::done) return ended(from.worker);
    // The same phase again would begin with all servers; it never follows itself.
    if (self.turn->phase() != before) send_phase(from.worker);
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
      self.counted +=
          mode.kind == PsMode::Kind::sync ? unit / static_cast<double>(self.round_size) : unit;
    } else {
      ++self.stale;
    }
    self.turn.reset();
    --self.pushes_left;
    events_.after(random_.up_to(milliseconds(worker == 0 ? 10 : 2)),
                  [this, worker] { next(worker); });
  }

  void control(uint32_t worker, const PsRequest& request) {
    ask(worker, 0, request);
    workers_[worker].control = last_request_;
  }

  /// The worker's next action.
  void next(uint32_t worker) {
    SimWorker& self = workers_[worker];
    if (self.ended() || self.turn || self.control) return;
    if (self.pushes_left == 0) return leave(worker);
    if (random_.percent(20)) {
      const auto kind = static_cast<PsMode::Kind>(random_.below(3));
      const size_t most = kind == PsMode::Kind::sync ? workers_.size() : 3;
      return control(worker, ModeRequest{.kind = kind,
                                         .count = static_cast<uint32_t>(random_.below(most + 1))});
    }
    self.turn.emplace(self.knowledge, servers(), random_.percent(80));
    send_phase(worker);
  }

  void send_phase(uint32_t worker) {
    SimWorker& self = workers_[worker];
    const PushTurn& turn = *self.turn;
    std::vector<double> gradient(workers_.size());
    gradient[worker] = unit;
    Bytes values(gradient.size() * sizeof(double));
    std::memcpy(values.data(), gradient.data(), values.size());
    const std::vector<float> other(workers_.size(), 0.25F);
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
        push.gradients = {{.shard = 0, .values = values},
                          {.shard = 1, .values = std::as_bytes(std::span(other))}};
        if (turn.has_values()) push.pulls = {{.shard = 0}};
        ask(worker, server, push);
      }
    }
  }

  void leave(uint32_t worker) {
    workers_[worker].left = true;
    notify(worker, Notice::Kind::left, false);
  }
  void die(uint32_t worker) {
    SimWorker& self = workers_[worker];
    if (self.ended()) return;
    self.dead = true;
    ++self.deaths;
    const bool returns = self.attempt < attempts_max && random_.percent(60);
    notify(worker, Notice::Kind::dead, returns);
    if (returns)
      events_.after(random_.up_to(milliseconds(12)), [this, worker] { restart(worker); });
  }
  /// No server has a copy of some part: the worker ends with an error.
  void abandon(uint32_t worker) {
    workers_[worker].abandoned = true;
    ++workers_[worker].deaths;
    notify(worker, Notice::Kind::dead, false);
  }
  void notify(uint32_t worker, Notice::Kind kind, bool returns) {
    const Notice notice{
        kind, {"worker", static_cast<int>(worker)}, "killed", workers_[worker].attempt, returns};
    for (uint32_t server = 0; server < servers(); ++server) {
      const bool closes = kind != Notice::Kind::restarted && random_.percent(50);
      events_.send(format("notices to {}", server), [this, worker, server, notice, closes] {
        cluster_->note(server, worker, notice, closes);
      });
    }
  }
  /// The next attempt knows nothing but the deaths of servers, and asks server 0.
  void restart(uint32_t worker) {
    SimWorker& self = workers_[worker];
    ++restarts_;
    ++self.attempt;
    self.dead = false;
    self.servers = cluster_->ring();
    self.knowledge = {};
    self.turn.reset();
    self.requests.clear();
    self.attaching.clear();
    self.control.reset();
    self.pushes_left = random_.between(1, 8);
    notify(worker, Notice::Kind::restarted, false);
    for (uint32_t part = 0; part < servers(); ++part)
      if (!self.servers.head(part)) return abandon(worker);
    for (uint32_t part = 0; part < servers(); ++part)
      attach(worker, part);
    control(worker, StatusRequest{});
    if (random_.percent(40))
      events_.after(random_.up_to(milliseconds(60)), [this, worker] { die(worker); });
  }

  void server_dies(uint32_t server) {
    if (cluster_->dead(server)) return;
    cluster_->die(server);
    for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
      events_.after(random_.up_to(milliseconds(8)),
                    [this, worker, server] { learn_of_death(worker, server); });
    }
  }
  /// Connects to the copies of the server's parts, or ends.
  void learn_of_death(uint32_t worker, uint32_t server) {
    SimWorker& self = workers_[worker];
    if (self.ended()) return;
    const PsServers before = self.servers;
    self.servers.dead.insert(server);
    for (uint32_t part = 0; part < servers(); ++part) {
      if (self.servers.head(part) == before.head(part)) continue;
      if (!self.servers.head(part)) return abandon(worker);
      attach(worker, part);
    }
  }

  void check_ended() {
    for (uint32_t worker = 0; worker < workers_.size(); ++worker)
      if (!workers_[worker].ended()) complain(format("worker {} waits for ever", worker));
  }

  PsReply observe(uint32_t part, const PsRequest& request) {
    observed_.clear();
    ask_as_observer(part, request);
    events_.run();
    if (observed_.empty()) return {.error = Error{Errc::timeout, "no reply"}};
    return decode_ps_reply(observed_).value();
  }

  void check_values() {
    const PsServers& ring = cluster_->ring();
    PsDecision decision;
    if (ring.head(0)) decision = observe(0, StatusRequest{}).decision;
    for (uint32_t part = 0; part < servers(); ++part) {
      // No worker knows the last decision when the servers that made it are dead.
      if (!ring.head(part) || !ring.head(0)) continue;
      check_part(part, decision);
      PartCopy* const head = cluster_->copy(part, part);
      PartCopy* const replica = cluster_->copy(ring.next(part), part);
      if (ring.copies < 2 || head == nullptr || replica == nullptr) continue;
      if (head->state().save().joined() != replica->state().save().joined())
        complain(format("the copies of part {} differ", part));
    }
  }
  void check_part(uint32_t part, const PsDecision& decision) {
    const PsReply reply = observe(part, PullRequest{.decision = decision, .pulls = {{.shard = 0}}});
    if (reply.error) return complain(reply.error->message);
    for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
      double value = 0;
      std::memcpy(&value, reply.values.at(0).data() + worker * sizeof value, sizeof value);
      if (explained(workers_[worker], -value)) continue;
      complain(format("worker {}: pushes of {} counted, and part {} has {}", worker,
                      workers_[worker].counted, part, -value));
    }
  }
  static bool explained(const SimWorker& worker, double effect) {
    return is_sum_of_pushes(effect - worker.counted, worker.deaths);
  }
  /// True for the effects of at most so many pushes, each alone or in a round of up to four.
  static bool is_sum_of_pushes(double effect, int pushes) {
    if (effect == 0) return true;
    if (effect < 0 || pushes == 0) return false;
    for (const int workers : {1, 2, 3, 4})
      if (is_sum_of_pushes(effect - unit / workers, pushes - 1)) return true;
    return false;
  }

  uint64_t seed_;
  VirtualEvents events_;
  Random& random_;
  PsCluster::Options options_;
  std::optional<PsCluster> cluster_;
  std::vector<SimWorker> workers_;
  uint32_t observer_ = 0;
  std::map<uint32_t, PsMode> modes_;  ///< of the push that a worker has under way
  uint32_t last_request_ = 0;
  Bytes observed_;
  std::string complaint_;
  int counted_pushes_ = 0;
  int repeated_ = 0;
  int restarts_ = 0;
  int rejoined_ = 0;
};

}  // namespace

TEST_CASE("every push that counts has its effect on every server, once") {
  const auto [first, seeds] = chosen_seeds();
  int counted = 0;
  int stale = 0;
  int take_overs = 0;
  int repeated = 0;
  int restarts = 0;
  int rejoined = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    PsWorld world(seed);
    world.run();
    CHECK_MESSAGE(world.complaint().empty(), world.complaint());
    counted += world.counted_pushes();
    stale += world.stale_pushes();
    take_overs += world.take_overs();
    repeated += world.repeated();
    restarts += world.restarts();
    rejoined += world.rejoined();
  }
  // Otherwise the seeds would show little.
  if (seeds < 100) return;
  CHECK(counted > static_cast<int>(seeds));
  CHECK(stale > static_cast<int>(seeds / 10));
  CHECK(take_overs > static_cast<int>(seeds / 10));
  CHECK(repeated > static_cast<int>(seeds / 10));
  CHECK(restarts > static_cast<int>(seeds / 10));
  CHECK(rejoined > static_cast<int>(seeds / 50));
}

}  // namespace dt
