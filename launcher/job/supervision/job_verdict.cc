#include "launcher/job/supervision/job_verdict.h"

#include <utility>

namespace dt {

bool JobVerdict::by_lost_host() const {
  return !outcome_.failure && outcome_.exit_status == status_host_lost;
}

void JobVerdict::fail(size_t task, int status, Failure failure) {
  ++outcome_.failed_tasks;
  // Peers of the task that raised an error may end before it: the oldest error is the cause.
  const bool sooner = outcome_.failure && outcome_.failure->error && failure.error &&
                      failure.error->when_ns > 0 &&
                      failure.error->when_ns < outcome_.failure->error->when_ns;
  if (decided_ && (!sooner || failure_reported_)) return;
  if (!decided_) outcome_.exit_status = status;
  decided_ = true;
  failed_task_ = task;
  outcome_.failure = std::move(failure);
}

void JobVerdict::decide(int status, std::string reason) {
  forbid_restart();
  if (std::exchange(decided_, true)) return;
  outcome_.exit_status = status;
  outcome_.reason = std::move(reason);
}

void JobVerdict::lose_host(std::string reason) {
  if (std::exchange(decided_, true)) return;
  outcome_.exit_status = status_host_lost;
  outcome_.reason = std::move(reason);
}

void JobVerdict::lose_output(std::string reason) {
  if (outcome_.failure || outcome_.exit_status != 0) return;
  outcome_.exit_status = status_host_lost;
  outcome_.reason = std::move(reason);
}

void JobVerdict::end(int status, std::string reason) {
  forbid_restart();
  if (!std::exchange(decided_, true)) outcome_.exit_status = status;
  if (outcome_.reason.empty()) outcome_.reason = std::move(reason);
}

void JobVerdict::interrupt(int number, bool wanted) {
  Outcome given = wanted ? stopped_outcome(number) : interrupted_outcome(number);
  end(given.exit_status, std::move(given.reason));
}

void JobVerdict::time_out(std::string reason) {
  end(status_time_limit, std::move(reason));
  timed_out_ = true;
}

}  // namespace dt
