#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/engine/driver.h"
#include "comm/engine/engine.h"
#include "comm/init_options.h"
#include "comm/rank_layout.h"

#include <sys/types.h>

#include <memory>

namespace dt {

/// What a handle of the public API stands for: this rank's place and the driver of its engine.
class Context {
 public:
  /// A job of one rank, without network.
  static std::shared_ptr<Context> alone();
  /// Joins all other ranks. On failure *blamed_rank is the rank to blame, if there is one.
  static Result<std::shared_ptr<Context>> join(const JoinRequest& request, int* blamed_rank);

  Context(Placement placement, Driver::Parts parts);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Placement& placement() const { return placement_; }
  Driver& driver() { return driver_; }
  /// Whether this process is a fork of the one that made the context. It then must not touch
  /// anything: the mutex may be held by a thread that it does not have, and the sockets are its
  /// parent's.
  bool forked() const;

 private:
  Placement placement_;
  Driver driver_;
  pid_t process_;
};

}  // namespace dt
