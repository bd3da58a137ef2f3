#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "launcher/process/child.h"

#include <sys/types.h>

#include <functional>
#include <utility>
#include <vector>

namespace dt {

/// A fork of this process that works for it, in a session of its own, and may wait for disks and
/// programs. It ends with this process, with this object, and when its function returns.
class ForkedService {
 public:
  /// Runs in the fork, with its descriptors.
  using Serve = std::function<void(std::vector<Fd> its)>;
  /// Starts the fork, whose name in lists of processes is `name`. Its descriptors are closed here.
  static Result<ForkedService> start(const char* name, std::vector<Fd> its, const Serve& serve);
  ForkedService(ForkedService&& other) noexcept
      : fork_(std::move(other.fork_)), is_over_(std::exchange(other.is_over_, true)) {}
  ForkedService& operator=(ForkedService&&) = delete;
  ~ForkedService();

  pid_t pid() const { return fork_.pid(); }
  /// Waits for its end, for so long at most. Requires that its connections are closed.
  void wait(Duration patience);

 private:
  explicit ForkedService(Child fork) : fork_(std::move(fork)) {}

  Child fork_;
  bool is_over_ = false;
};

}  // namespace dt
