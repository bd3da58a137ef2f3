#include "launcher/job/own_sweep.h"

#include <string>

namespace dt {

bool OwnSweep::run() {
  if (!required_ || over_) return true;
  if (sweep_) return false;
  sweep_.emplace(parts_.loop, Sweep::Options{.ours = parts_.owns_other, .spared = parts_.spared},
                 [this](const Sweep::Report& report) {
                   for (const std::string& process : report.unkillable)
                     parts_.log.warn("{} cannot be killed; it is left there", process);
                   over_ = true;
                 });
  return over_;
}

}  // namespace dt
