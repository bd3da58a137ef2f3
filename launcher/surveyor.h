#pragma once

#include "base/fd.h"
#include "base/loop.h"
#include "launcher/host_survey.h"

#include <functional>
#include <memory>
#include <string>

namespace dt {

/// Finds out what this host has. NVIDIA's driver is asked by a process of its own: it may take
/// seconds, or hang in the kernel, and what it leaves in memory is none of ours.
class Surveyor {
 public:
  using Done = std::function<void(const HostSurvey&)>;
  /// `on_done` is called once, after the patience at the latest.
  static Result<std::unique_ptr<Surveyor>> start(Loop& loop, const Survey& wanted, Done on_done);
  Surveyor(const Surveyor&) = delete;
  Surveyor& operator=(const Surveyor&) = delete;
  ~Surveyor() { kill_asker(); }

 private:
  Surveyor(Loop& loop, Done on_done) : loop_(loop), on_done_(std::move(on_done)) {}
  Result<> ask_driver(Duration patience);
  void read_answer();
  /// With what has been said by now, or else the failure.
  void finish(const std::string& failure);
  void kill_asker() const;

  Loop& loop_;
  Done on_done_;
  HostSurvey survey_;
  Fd asker_;  ///< its pidfd
  Fd pipe_;
  Watch watch_;  // after the pipe: destroyed before it is closed
  Timer deadline_;
  Bytes answer_;
};

}  // namespace dt
