#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/engine/driver.h"
#include "comm/engine/engine.h"
#include "comm/fork_detector.h"
#include "comm/init_options.h"
#include "comm/rank_layout.h"

#include <memory>

namespace dt {

/// The object behind a handle of the public API: this rank's layout and the driver of its engine.
class Context {
 public:
  /// A job of one rank, without network.
  static std::shared_ptr<Context> alone();
  /// Joins all other ranks. On failure *blamed_rank is the rank to blame, if there is one.
  static Result<std::shared_ptr<Context>> join(const InitOptions& options, int* blamed_rank);

  Context(RankLayout layout, Driver::Parts parts);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const RankLayout& layout() const { return layout_; }
  Driver& driver() { return driver_; }
  /// True in a fork of the process that made the context. The fork must not use the context: the
  /// mutex may be locked by a thread of the parent, and the sockets belong to the parent.
  bool forked() const { return fork_detector_.forked(); }

 private:
  RankLayout layout_;
  Driver driver_;
  ForkDetector fork_detector_;
};

}  // namespace dt
