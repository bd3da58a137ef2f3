#pragma once

#include "base/clock.h"

namespace dt {

/// Observes whether this thread shares its core. The ranks of one host can be counted, but not
/// those in other containers, nor the processes of other jobs. A yield that takes long has let
/// another process run.
class CoreSharing {
 public:
  /// A yield that switches to no other process takes less, and one that switches takes more.
  static constexpr Duration switched_after = std::chrono::nanoseconds(1500);
  /// After this many yields without a switch, the core counts as unshared again.
  static constexpr int quick_yields_max = 256;
  /// On an unshared core, one in this many rounds of a wait begins with a yield.
  static constexpr int rounds_per_probe = 32;

  /// `known`: the ranks of this host have fewer cores than ranks.
  explicit CoreSharing(bool known) : known_(known) {}

  /// True when a wait has to yield between its checks.
  bool yields() const { return known_ || quick_yields_left_ > 0; }
  /// Called in each round of a wait on an unshared core. Returns true when it has to yield once.
  bool must_probe() {
    rounds_ = (rounds_ + 1) % rounds_per_probe;
    return rounds_ == 0;
  }
  void note_yield(Duration took) {
    if (took >= switched_after) {
      quick_yields_left_ = quick_yields_max;
    } else if (quick_yields_left_ > 0) {
      --quick_yields_left_;
    }
  }

 private:
  bool known_;
  int quick_yields_left_ = 0;
  int rounds_ = 0;
};

}  // namespace dt
