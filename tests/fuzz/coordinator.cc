// A coordinator's schedule under any sequence of closures, outcomes and ends of workers, and the
// readers of its messages. The input is a list of steps. Each step has a letter for its kind and a
// byte for the worker. A closure, an outcome and a message add a u16 length and their bytes.

#include "comm/training/coordinator/closure_schedule.h"
#include "tests/fuzz/fuzz.h"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace dt {
namespace {

constexpr size_t workers = 3;

class World {
 public:
  World() : schedule_(options()) {}

  void add(ByteSpan name) {
    const auto added = schedule_.add(as_text(name), name, true);
    if (added) {
      unfetched_.insert(*added);
    } else {
      check_message(added.error());
    }
  }
  void connect(size_t worker) {
    running_.erase(worker);
    schedule_.connected(worker);
  }
  void disconnect(size_t worker) {
    running_.erase(worker);
    schedule_.disconnected(worker, now_);
  }
  void gone(size_t worker, Notice::Kind kind) {
    running_.erase(worker);
    schedule_.gone({kind, {"worker", static_cast<int>(worker)}, "killed by SIGKILL"});
  }
  void outcome(size_t worker, ByteSpan bytes) {
    auto decoded = decode_closure_outcome(bytes);
    if (!decoded) return check_message(decoded.error());
    const auto run = running_.find(worker);
    const uint32_t number = run == running_.end() ? 0 : run->second;
    const Result<> taken = schedule_.finished(worker, number, *std::move(decoded));
    assert(taken.has_value() == (run != running_.end()));
    if (run != running_.end()) running_.erase(run);
  }
  static void message(ByteSpan bytes) {
    const auto decoded = decode_closure_message(bytes);
    if (!decoded) return check_message(decoded.error());
    assert(decode_closure_message(encode(*decoded)).value() == *decoded);
  }
  void advance() {
    now_ += milliseconds(300);
    schedule_.advance(now_);
  }
  void dispatch() {
    for (const ClosureSchedule::Dispatch& dispatch : schedule_.take_dispatches()) {
      message(*dispatch.message);
      assert(running_.emplace(dispatch.worker, dispatch.number).second);
    }
  }
  /// Each closure is unfinished or has its end.
  void end() {
    size_t unfinished = 0;
    for (const uint64_t number : unfetched_) {
      const ClosureSchedule::State state = schedule_.state(number);
      assert(state != ClosureSchedule::State::unknown);
      if (state == ClosureSchedule::State::unfinished) ++unfinished;
      if (state == ClosureSchedule::State::finished) static_cast<void>(schedule_.fetch(number));
    }
    assert(unfinished == schedule_.unfinished());
  }

 private:
  static ClosureSchedule::Options options() {
    ClosureSchedule::Options options;
    for (size_t i = 0; i < workers; ++i)
      options.workers.push_back({.id = {"worker", static_cast<int>(i)}, .host = "a"});
    // Small limits, so that short inputs reach them.
    options.closures_max = 8;
    options.bytes_max = 1024;
    return options;
  }

  ClosureSchedule schedule_;
  Time now_ = Time() + seconds(1000);
  std::map<size_t, uint32_t> running_;  ///< dispatches, by worker
  std::set<uint64_t> unfetched_;
};

}  // namespace

void fuzz_one(ByteSpan bytes) {
  World world;
  Reader input(bytes);
  while (!input.rest().empty()) {
    const auto what = input.number<uint8_t>();
    const size_t worker = input.number<uint8_t>() % workers;
    if (what == 'c') world.connect(worker);
    if (what == 'd') world.disconnect(worker);
    if (what == 'k') world.gone(worker, Notice::Kind::dead);
    if (what == 'l') world.gone(worker, Notice::Kind::left);
    if (what == 'a' || what == 'o' || what == 'm') {
      const size_t length = std::min<size_t>(input.number<uint16_t>(), input.rest().size());
      const ByteSpan body = input.raw(length);
      if (what == 'a') world.add(body);
      if (what == 'o') world.outcome(worker, body);
      if (what == 'm') World::message(body);
    }
    world.advance();
    world.dispatch();
  }
  world.end();
}

}  // namespace dt
