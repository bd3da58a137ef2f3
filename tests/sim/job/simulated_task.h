#pragma once

#include "launcher/protocol/message.h"
#include "tests/sim/job/member.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The behaviour of a task without disturbance.
struct TaskFate {
  /// Where it ends.
  enum class End : uint8_t {
    well,
    start_failure,  ///< there is no such program
    before_join,
    in_handshake,  ///< it dies while it proves the token
    before_barrier,
    training,
    hangs,  ///< until a signal ends it
  };
  End end = End::well;
  ExitStatus status;    ///< of all ends but `well`
  int failures = 1;     ///< the number of its attempts that end so; later ones end well
  bool joins = true;    ///< false: a program without libdtrain
  bool follows = true;  ///< it ends when another task has ended
  bool ignores_term = false;
  Duration start = milliseconds(2);  ///< from the launch to its first instruction
  Duration load = milliseconds(5);   ///< until it joins
  bool meets = false;                ///< it calls a collective before it trains
  Duration late = {};                ///< from the barrier to that call
  Duration train = milliseconds(20);
  Duration clean_up = {};   ///< from the notice of a death to its own end
  size_t output_bytes = 0;  ///< of stdout, while it trains
};

/// The exit status of a program that ends because another task has ended. It never becomes the exit
/// status of the job.
inline constexpr int follower_status = 77;

/// A program as its agent sees it. It trains after the barrier of all tasks and perhaps a
/// collective. After the notice of a death, it ends with follower_status, unless its fate differs.
/// While it waits in the collective, it reports that as libdtrain does.
class SimulatedTask {
 public:
  struct Handlers {
    std::function<void()> on_started;
    std::function<void()> on_start_failed;
    std::function<void(size_t bytes)> on_output;
    std::function<void(ExitStatus)> on_exit;
    std::function<void()> on_join;  ///< it has just dialed the rendezvous
    std::function<void()> on_barrier;
    std::function<void()> on_call;  ///< of the collective
    /// The ranks that have not called yet.
    std::function<std::vector<int32_t>()> awaited;
    std::function<void(const Notice&)> on_notice;
  };
  /// `dial` is called with the rendezvous' end of each connection.
  SimulatedTask(Site& site, TaskFate fate, Claim claim, std::function<void(Fd)> dial,
                Cable::Nature nature, Handlers handlers);
  SimulatedTask(const SimulatedTask&) = delete;
  SimulatedTask& operator=(const SimulatedTask&) = delete;

  void start();
  /// A signal from its agent, which may be SIGSTOP or SIGCONT.
  void signal(int number);
  /// A signal for which it has a handler: it writes a line.
  void write_stack();
  /// All tasks have called the collective.
  void all_called();
  bool started() const { return life_ != Life::waiting; }
  bool alive() const { return life_ == Life::running; }
  /// It can receive notices: it has joined, is not stopped, and is not cut off.
  bool listening() const;
  bool stopped() const { return stopped_; }
  size_t written() const { return written_; }
  const TaskFate& fate() const { return fate_; }
  Member* member() { return member_.get(); }

 private:
  enum class Life : uint8_t { waiting, starting, running, ended };
  void in(Duration delay, void (SimulatedTask::*next)());
  void begin();
  void join();
  void all_there();
  void call();
  void report_wait();
  void wait_queried();
  void train();
  void go();
  void finish();
  void follow();
  void perish();
  void die();
  void end(ExitStatus status);
  bool dies_at(TaskFate::End end) const { return fate_.end == end; }

  Site& site_;
  TaskFate fate_;
  Claim claim_;
  std::function<void(Fd)> dial_;
  Cable::Nature nature_;
  Handlers handlers_;
  std::unique_ptr<Member> member_;
  Life life_ = Life::waiting;
  bool stopped_ = false;
  bool following_ = false;
  bool waiting_ = false;  ///< in the collective
  Time waiting_since_ = {};
  bool reported_ = false;  ///< its last report has the wait
  bool queried_ = false;   ///< while it was in no call
  void (SimulatedTask::*next_)() = nullptr;
  Time next_at_;
  Timer timer_;
  std::optional<ExitStatus> dying_;  ///< the status with which it ends next
  int trained_ = 0;                  ///< pieces of its training
  size_t written_ = 0;
};

}  // namespace dt
