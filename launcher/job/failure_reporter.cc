#include "launcher/job/failure_reporter.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/console/task_input.h"
#include "launcher/report/report.h"

#include <algorithm>
#include <string_view>

namespace dt {

namespace {

/// How long a failure waits for the last lines of the task's stderr.
constexpr Duration report_patience = milliseconds(500);

/// True for how Python ends at the end of its input: input() and breakpoint() raise these.
bool is_end_of_input(std::string_view line) {
  return line.starts_with("EOFError") || line.find("BdbQuit") != std::string_view::npos;
}

/// True for how Gloo (as in JAX on CPUs) and TensorPipe fail where a host's own name leads others
/// elsewhere.
bool is_wrong_name(std::string_view line) {
  constexpr std::string_view signs[] = {"gloo/transport/tcp", "Gloo context initialization failed",
                                        "tensorpipe/transport"};
  return std::ranges::any_of(
      signs, [line](std::string_view sign) { return line.find(sign) != std::string_view::npos; });
}

}  // namespace

void FailureReporter::report_soon() {
  if (!parts_.verdict.has_unreported_failure() || timer_) return;
  timer_ = parts_.loop.after(report_patience, [this] { report_now(); });
}

void FailureReporter::report_if_complete() {
  if (!parts_.verdict.has_unreported_failure()) return;
  if (parts_.verdict.outcome().failure->error) return;
  if (parts_.output.ended(parts_.verdict.failed_task(), TaskStream::error)) report_now();
}

void FailureReporter::report_now() {
  timer_ = Timer();
  if (!parts_.verdict.has_unreported_failure()) return;
  parts_.verdict.failure_reported();
  const size_t task = parts_.verdict.failed_task();
  parts_.record.last_stderr = parts_.output.last_errors(task);
  const Failure& failure = *parts_.verdict.outcome().failure;
  const std::vector<std::string> unseen = parts_.output.shows_last_errors(task)
                                              ? std::vector<std::string>()
                                              : parts_.record.last_stderr;
  parts_.log.error("{}", failure_text(failure, unseen, stream_name_) + advice(failure));
}

std::string FailureReporter::name_advice(const Failure& failure) const {
  const JobRecord& record = parts_.record;
  const std::string& own_name = record.tasks[parts_.verdict.failed_task()].own_name;
  // On one machine, its loopback address is the right one.
  const bool misleads = record.plan.host_count() > 1 && !own_name.empty();
  const std::string what =
      misleads
          ? format("on {}, {}, which other hosts cannot reach", failure.host, printable(own_name))
          : "the own name of a host may lead other hosts elsewhere, or nowhere";
  return format("\n{}; dtrain check -H {} shows it, and the line for /etc/hosts", what,
                failure.host);
}

std::string FailureReporter::advice(const Failure& failure) const {
  // The exit status of TensorFlow's PreemptionCheckpointHandler.
  const ExitStatus saved_and_left{.code = 42};
  if (parts_.advises_restart && failure.cause == saved_and_left.text())
    return "\nPreemptionCheckpointHandler exits with it when its work is saved and its host is "
           "being taken away: start the job again";
  if (std::ranges::any_of(parts_.record.last_stderr, is_wrong_name)) return name_advice(failure);
  const bool reads = wants_input({.id = failure.task, .rank = failure.rank}, parts_.input);
  const bool ended = std::ranges::any_of(parts_.record.last_stderr, is_end_of_input) ||
                     (failure.error && is_end_of_input(failure.error->message));
  if (!ended || reads || failure.rank < 0) return "";
  return format("\nits standard input is empty; --stdin {} gives it yours", failure.rank);
}

void FailureReporter::report_reason() {
  const Outcome& outcome = parts_.verdict.outcome();
  if (!parts_.verdict.by_lost_host() || outcome.reason_reported) return;
  parts_.log.error("{}", outcome.reason);
  parts_.verdict.reason_reported();
}

}  // namespace dt
