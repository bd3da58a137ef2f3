#pragma once

#include "base/io/loop.h"
#include "launcher/process/forked_query.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace dt {

/// Counts an agent's tasks that are MPI programs running alone (launcher/agent/mpi_program.h). Does
/// it once, a second after the launch, when the tasks have loaded their libraries.
class MpiLook {
 public:
  using Tasks = std::function<std::vector<pid_t>()>;
  using Done = std::function<void(uint32_t alone)>;
  /// `tasks` is called after that second, and `on_done` once, a few seconds later at most.
  MpiLook(Loop& loop, Tasks tasks, Done on_done);
  MpiLook(const MpiLook&) = delete;
  MpiLook& operator=(const MpiLook&) = delete;

  /// Returns the processes that count; a sweep must spare them.
  std::vector<pid_t> processes() const;

 private:
  void check();

  Loop& loop_;
  Tasks tasks_;
  Done on_done_;
  Timer timer_;
  std::unique_ptr<ForkedQuery>
      query_;              ///< a process of its own: reading /proc may block in the kernel
  bool answered_ = false;  ///< its process has ended, and the kernel may use its pid again
};

}  // namespace dt
