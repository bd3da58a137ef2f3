#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/json.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/console/runtime.h"
#include "launcher/kept/job_folder.h"
#include "launcher/kept/job_server.h"
#include "launcher/kept/job_summary.h"
#include "launcher/report/job_record.h"
#include "launcher/report/outcome.h"

#include <memory>
#include <optional>
#include <string>

namespace dt {

/// How a job is kept: its folder, and the process that waits for its start.
struct KeepOrder {
  JobFolder folder;
  std::string text = {};  ///< of job.toml: the job as it took effect
  Fd started = {};        ///< gets a byte when all tasks have started; empty: none waits
  bool detached = false;  ///< standard error is the job's log already
};

/// Has the output of a kept job in its folder, unless the user has chosen another one or none
/// (--keep-output 0). The folder has all of it: neither its loss nor a reader that goes away ends
/// the job.
void keep_output(const KeepOrder& order, RunConfig& config);

/// The launcher's side of a job's folder: holds the lock, answers at the socket, and writes report
/// and summary anew while the job runs, at most once a second. A folder that cannot be written
/// costs a warning, never the job.
class KeptJob {
 public:
  /// All but the order outlives it.
  struct Parts {
    const RunConfig& config;
    Runtime& runtime;
    const JobRecord& record;
  };
  KeptJob(KeepOrder order, const Parts& parts);
  KeptJob(const KeptJob&) = delete;
  KeptJob& operator=(const KeptJob&) = delete;

  /// The job has ended: writes report and summary for the last time.
  void end(const Outcome& outcome);

 private:
  void look();
  bool all_started() const;
  void write_all(const std::optional<Outcome>& outcome);
  void write_file(std::string_view name, const std::string& text);
  Json report(const std::optional<Outcome>& outcome) const;
  void warn(std::string_view what, const std::string& why);

  KeepOrder order_;
  Parts parts_;
  JobSummary summary_;
  Fd lock_;
  std::unique_ptr<JobServer> server_;
  bool has_plan_ = false;
  bool warned_ = false;
  std::string written_;  ///< the last report
  Time next_write_;
  Timer timer_;
};

}  // namespace dt
