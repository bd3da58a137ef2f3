// A coordinator and its workers in virtual time. One seed chooses the number of workers, delays,
// deaths, broken connections, and workers that come again. Each message is the encoded form of the
// real one.
//
// Promise: every closure that is scheduled finishes once. If it finishes well, a worker has run it
// at least once, and the result is that of its argument. Else its error names it: a worker returned
// that error, or too few workers were left. A join returns.

#include "base/format.h"
#include "comm/training/coordinator/closure_schedule.h"
#include "tests/sim/random.h"
#include "tests/sim/seeds.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {
namespace {

struct SimWorker {
  bool dead = false;
  uint32_t attempt = 0;  ///< its connections so far; messages of an earlier one are lost
  bool connected = false;
};

class CoordinatorWorld {
 public:
  explicit CoordinatorWorld(uint64_t seed) : seed_(seed), random_(seed) {
    const int workers = random_.between(1, 4);
    workers_.resize(static_cast<size_t>(workers));
    ClosureSchedule::Options options;
    for (int i = 0; i < workers; ++i)
      options.workers.push_back({.id = {"worker", i}, .rank = i + 1, .host = "a"});
    options.workers_min = static_cast<size_t>(random_.between(1, workers));
    schedule_ = std::make_unique<ClosureSchedule>(std::move(options));
  }

  void run() {
    const int closures = random_.between(1, 20);
    for (int i = 0; i < closures; ++i)
      after(random_.up_to(milliseconds(20)), [this, i] { add(i); });
    for (size_t worker = 0; worker < workers_.size(); ++worker) {
      after(random_.up_to(milliseconds(10)), [this, worker] { connect(worker); });
      if (random_.percent(40))
        after(random_.up_to(milliseconds(60)), [this, worker] { die(worker); });
      if (random_.percent(30))
        after(random_.up_to(milliseconds(60)), [this, worker] { break_connection(worker); });
    }
    while (!events_.empty()) {
      const auto first = events_.begin();
      now_ = first->first.first;
      const std::function<void()> event = std::move(first->second);
      events_.erase(first);
      event();
      advance();
    }
    check_ended();
  }

  const std::string& complaint() const { return complaint_; }
  int repeated() const { return repeated_; }
  int lost() const { return lost_; }

 private:
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = format("seed {}: {}", seed_, what);
  }
  void after(Duration delay, std::function<void()> event) {
    events_.emplace(std::pair(now_ + delay, next_event_++), std::move(event));
  }

  void add(int i) {
    // Every fifth closure fails.
    const std::string name = format("{} {}", i % 5 == 4 ? "fails" : "echo", i);
    const auto added = schedule_->add(name, to_bytes(name), true);
    if (added) {
      scheduled_[*added] = name;
    } else if (added.error().code != Errc::peer_lost) {
      complain(added.error().message);
    }
  }
  void connect(size_t worker) {
    SimWorker& self = workers_[worker];
    if (self.dead || self.connected) return;
    self.connected = true;
    ++self.attempt;
    schedule_->connected(worker);
  }
  void close(size_t worker) {
    SimWorker& self = workers_[worker];
    if (!std::exchange(self.connected, false)) return;
    ++self.attempt;
    schedule_->disconnected(worker, now_);
  }
  /// The coordinator learns of it by the notice, by the connection, or by both.
  void die(size_t worker) {
    workers_[worker].dead = true;
    const Notice notice{random_.percent(80) ? Notice::Kind::dead : Notice::Kind::left,
                        {"worker", static_cast<int>(worker)},
                        "killed"};
    if (random_.percent(70))
      after(random_.up_to(milliseconds(5)), [this, worker] { close(worker); });
    after(random_.up_to(milliseconds(900)), [this, worker, notice] {
      workers_[worker].connected = false;
      schedule_->gone(notice);
    });
  }
  /// The worker lives on, and its process may connect again.
  void break_connection(size_t worker) {
    close(worker);
    if (random_.percent(50))
      after(random_.up_to(milliseconds(1500)), [this, worker] { connect(worker); });
  }

  void advance() {
    schedule_->advance(now_);
    for (const ClosureSchedule::Dispatch& dispatch : schedule_->take_dispatches()) {
      const uint32_t attempt = workers_[dispatch.worker].attempt;
      after(random_.up_to(milliseconds(8)),
            [this, dispatch, attempt] { arrive(dispatch, attempt); });
    }
    // The clock of the coordinator.
    const Time next = schedule_->next_deadline();
    if (next != Time::max() && next != clock_set_) {
      clock_set_ = next;
      after(std::max(next - now_, Duration::zero()), [] {});
    }
  }

  /// The worker runs the closure, and sends its outcome.
  void arrive(const ClosureSchedule::Dispatch& dispatch, uint32_t attempt) {
    if (workers_[dispatch.worker].dead) return;
    const ClosureMessage message = decode_closure_message(*dispatch.message).value();
    const auto& closure = std::get<RunClosure>(message);
    if (++runs_[closure.name] == 2) ++repeated_;
    ClosureOutcome outcome{.result = closure.argument};
    if (closure.name.starts_with("fails")) outcome = {.error = Error{Errc::os, "it fails"}};
    after(random_.up_to(milliseconds(20)), [this, dispatch, attempt, body = encode(outcome)] {
      const SimWorker& self = workers_[dispatch.worker];
      if (self.attempt != attempt || !self.connected) return;
      const Result<> taken = schedule_->finished(dispatch.worker, dispatch.number,
                                                 decode_closure_outcome(body).value());
      if (!taken) complain(taken.error().message);
    });
  }

  void check_ended() {
    // Workers that live and do not come again leave closures waiting, but not running.
    bool usable = false;
    for (const SimWorker& worker : workers_)
      usable = usable || worker.connected;
    if (schedule_->unfinished() > 0) {
      complain(format("{} closures wait for ever{}", schedule_->unfinished(),
                      usable ? ", and a worker is idle" : ""));
      return;
    }
    for (const auto& [number, name] : scheduled_)
      check_end(number, name);
  }
  void check_end(uint64_t number, const std::string& name) {
    if (schedule_->state(number) != ClosureSchedule::State::finished)
      return complain(name + " has no end");
    const Result<Bytes> end = schedule_->fetch(number);
    if (schedule_->state(number) != ClosureSchedule::State::unknown)
      complain(name + " has two ends");
    if (end) {
      if (name.starts_with("fails") || as_text(*end) != name || runs_[name] == 0)
        complain(name + " has a wrong result");
      return;
    }
    const bool own = end.error().code == Errc::os;
    if (!own) ++lost_;
    if (end.error().message.find(format("closure \"{}\"", name)) != 0)
      complain(end.error().message);
    if (own ? !name.starts_with("fails") : end.error().code != Errc::peer_lost)
      complain(end.error().message);
  }

  uint64_t seed_;
  Random random_;
  std::unique_ptr<ClosureSchedule> schedule_;
  std::vector<SimWorker> workers_;
  Time now_ = Time() + seconds(1000);
  Time clock_set_ = {};
  std::map<std::pair<Time, uint64_t>, std::function<void()>> events_;
  uint64_t next_event_ = 0;
  std::map<uint64_t, std::string> scheduled_;  ///< names, by number
  std::map<std::string, int> runs_;
  std::string complaint_;
  int repeated_ = 0;
  int lost_ = 0;
};

}  // namespace

TEST_CASE("every closure finishes once, by a result or an error of its name") {
  const auto [first, seeds] = chosen_seeds();
  int repeated = 0;
  int lost = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    CoordinatorWorld world(seed);
    world.run();
    CHECK_MESSAGE(world.complaint().empty(), world.complaint());
    repeated += world.repeated();
    lost += world.lost();
  }
  // Otherwise the seeds would show little.
  if (seeds < 100) return;
  CHECK(repeated > static_cast<int>(seeds / 10));
  CHECK(lost > static_cast<int>(seeds / 10));
}

}  // namespace dt
