#include "tests/sim/job/simulated_task.h"

#include <csignal>
#include <string_view>
#include <utility>

namespace dt {

namespace {

constexpr int pieces = 4;
constexpr std::string_view collective = "all_reduce #2 \"gradients\"";
/// From a signal to the end of a task that does not handle it.
constexpr Duration death_takes = microseconds(300);

}  // namespace

SimulatedTask::SimulatedTask(Site& site, TaskFate fate, Claim claim, std::function<void(Fd)> dial,
                             Cable::Nature nature, Handlers handlers)
    : site_(site),
      fate_(fate),
      claim_(std::move(claim)),
      dial_(std::move(dial)),
      nature_(nature),
      handlers_(std::move(handlers)) {
}

void SimulatedTask::start() {
  life_ = Life::starting;
  in(fate_.start, &SimulatedTask::begin);
}

bool SimulatedTask::listening() const {
  return life_ == Life::running && !stopped_ && member_ && member_->hears() &&
         !member_->cable().held();
}

/// Schedules the next step. A stopped task does it after SIGCONT.
void SimulatedTask::in(Duration delay, void (SimulatedTask::*next)()) {
  next_ = next;
  next_at_ = site_.loop.now() + delay;
  if (!stopped_) timer_ = site_.loop.at(next_at_, [this] { go(); });
}

void SimulatedTask::go() {
  const auto next = std::exchange(next_, nullptr);
  (this->*next)();
}

void SimulatedTask::begin() {
  if (dies_at(TaskFate::End::start_failure)) {
    life_ = Life::ended;
    handlers_.on_start_failed();
    return;
  }
  life_ = Life::running;
  handlers_.on_started();
  in(fate_.load, dies_at(TaskFate::End::before_join) ? &SimulatedTask::die
                 : fate_.joins                       ? &SimulatedTask::join
                                                     : &SimulatedTask::train);
}

void SimulatedTask::join() {
  member_ =
      std::make_unique<Member>(site_, nature_, claim_, dial_,
                               Member::Handlers{
                                   .needs_all = fate_.follows,
                                   .on_barrier = [this] { all_there(); },
                                   .on_notice =
                                       [this](const Notice& notice) {
                                         handlers_.on_notice(notice);
                                         if (notice.kind == Notice::Kind::dead && fate_.follows)
                                           follow();
                                       },
                                   .on_wait_query = [this] { wait_queried(); },
                                   .on_failure = [this](const std::string&) { follow(); },
                               });
  handlers_.on_join();
  if (dies_at(TaskFate::End::in_handshake)) in(nature_.latency, &SimulatedTask::die);
  if (dies_at(TaskFate::End::before_barrier)) in(fate_.train / 2, &SimulatedTask::die);
}

void SimulatedTask::all_there() {
  if (!alive()) return;
  handlers_.on_barrier();
  // A task that is about to end does not train.
  if (next_ == nullptr) in(fate_.late, fate_.meets ? &SimulatedTask::call : &SimulatedTask::train);
}

void SimulatedTask::call() {
  waiting_ = true;
  waiting_since_ = site_.loop.now();
  if (const Duration after = member_->stall_after(); after > Duration::zero())
    in(after, &SimulatedTask::report_wait);
  handlers_.on_call();
  if (waiting_ && std::exchange(queried_, false)) report_wait();
}

void SimulatedTask::report_wait() {
  reported_ = true;
  member_->report({{{.operation = std::string(collective),
                     .waited = site_.loop.now() - waiting_since_,
                     .awaited = handlers_.awaited(),
                     .last_before = "barrier #1"}}});
}

/// Only a call reads the query.
void SimulatedTask::wait_queried() {
  if (waiting_ && alive() && !stopped_ && !dying_) {
    report_wait();
  } else {
    queried_ = true;
  }
}

void SimulatedTask::all_called() {
  if (!std::exchange(waiting_, false) || !alive() || dying_) return;
  if (std::exchange(reported_, false)) member_->report({});
  in(Duration::zero(), &SimulatedTask::train);
}

void SimulatedTask::train() {
  if (const size_t size = fate_.output_bytes / size_t{pieces}; size > 0) {
    written_ += size;
    handlers_.on_output(size);
  }
  if (dies_at(TaskFate::End::hangs)) return;
  const bool over = ++trained_ == pieces;
  in(fate_.train / pieces, !over                              ? &SimulatedTask::train
                           : dies_at(TaskFate::End::training) ? &SimulatedTask::die
                                                              : &SimulatedTask::finish);
}

void SimulatedTask::finish() {
  end({});
}

void SimulatedTask::die() {
  end(fate_.status);
}

/// Another task has ended, so that this one cannot train. A task that hangs does not notice.
void SimulatedTask::follow() {
  if (std::exchange(following_, true) || !alive() || dying_ || dies_at(TaskFate::End::hangs))
    return;
  dying_ = {.code = follower_status};
  in(death_takes + fate_.clean_up, &SimulatedTask::perish);
}

void SimulatedTask::perish() {
  if (life_ == Life::starting) {
    // The agent reports both: the program ran, if only for a moment.
    life_ = Life::running;
    handlers_.on_started();
  }
  end(*dying_);
}

void SimulatedTask::signal(int number) {
  if (life_ != Life::running && life_ != Life::starting) return;
  if (number == SIGSTOP) {
    stopped_ = true;
    timer_ = Timer();
  } else if (number == SIGCONT) {
    if (std::exchange(stopped_, false) && next_ != nullptr) in(milliseconds(1), next_);
  } else if (number == SIGKILL || !fate_.ignores_term) {
    stopped_ = false;
    dying_ = {.signal = number};
    in(death_takes, &SimulatedTask::perish);
  }
}

void SimulatedTask::write_stack() {
  constexpr size_t stack_bytes = 80;
  if (!alive() || dying_) return;
  written_ += stack_bytes;
  handlers_.on_output(stack_bytes);
}

void SimulatedTask::end(ExitStatus status) {
  if (life_ == Life::ended) return;
  life_ = Life::ended;
  timer_ = Timer();
  if (member_) member_->cable().hang_up();
  handlers_.on_exit(status);
}

}  // namespace dt
