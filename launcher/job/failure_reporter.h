#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "launcher/config/config.h"
#include "launcher/console/task_output.h"
#include "launcher/job/supervision/job_verdict.h"
#include "launcher/report/job_record.h"

#include <string>

namespace dt {

/// Logs to the user why a job fails, each cause once. A failed task's cause waits a moment for the
/// last lines of its stderr. The loss of a host is logged at once.
class FailureReporter {
 public:
  /// All of it outlives this object.
  struct Dependencies {
    Loop& loop;
    JobVerdict& verdict;
    const TaskOutput& output;
    Log& log;
    JobRecord& record;
    StdinTarget input = {};
    bool advises_restart = false;  ///< of Python programs that have saved their work
  };
  /// `stream_name`: the stream that the last lines come from, "stderr" or "output".
  FailureReporter(Dependencies parts, std::string stream_name)
      : parts_(parts), stream_name_(std::move(stream_name)) {}

  /// Starts the wait for the last lines, if a failure is to be reported.
  void report_soon();
  /// Reports the failure if nothing more can come: its stderr has ended, and the task sent no
  /// TaskError. With one, another task's error may be older, so that the wait goes to its end.
  void report_if_complete();
  /// Reports the failure with the lines that there are.
  void report_now();
  /// Reports the loss of a host or of a port, if that ends the job. Not later: the tasks of other
  /// hosts may take the grace to end.
  void report_reason();

 private:
  std::string advice(const Failure& failure) const;
  std::string name_advice(const Failure& failure) const;

  Dependencies parts_;
  std::string stream_name_;
  Timer timer_;
};

}  // namespace dt
