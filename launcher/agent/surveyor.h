#pragma once

#include "base/io/loop.h"
#include "launcher/process/asker.h"
#include "launcher/protocol/host_survey.h"

#include <functional>
#include <memory>

namespace dt {

/// Finds out what this host has.
class Surveyor {
 public:
  using Done = std::function<void(const HostSurvey&)>;
  /// `on_done` is called once, after the patience at the latest.
  static Result<std::unique_ptr<Surveyor>> start(Loop& loop, const Survey& wanted, Done on_done);
  Surveyor(const Surveyor&) = delete;
  Surveyor& operator=(const Surveyor&) = delete;

 private:
  explicit Surveyor(Done on_done) : on_done_(std::move(on_done)) {}
  void driver_answered(const Asker::Answer& answer, Duration patience);

  Done on_done_;
  HostSurvey survey_;
  Timer soon_;
  std::unique_ptr<Asker> asker_;  ///< asks NVIDIA's driver
};

}  // namespace dt
