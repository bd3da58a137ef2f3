#pragma once

#include "base/io/loop.h"
#include "launcher/process/forked_query.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace dt {

/// An agent's one look at its tasks, when they have had a second to load their libraries: how many
/// of them are programs with MPI that run alone (launcher/agent/mpi_program.h)?
class MpiLook {
 public:
  using Tasks = std::function<std::vector<pid_t>()>;
  using Done = std::function<void(uint32_t alone)>;
  /// `tasks` is asked then, and `on_done` called once, a few seconds later at most.
  MpiLook(Loop& loop, Tasks tasks, Done on_done);
  MpiLook(const MpiLook&) = delete;
  MpiLook& operator=(const MpiLook&) = delete;

  /// The processes of ours that look.
  std::vector<pid_t> processes() const;

 private:
  void look();

  Loop& loop_;
  Tasks tasks_;
  Done on_done_;
  Timer timer_;
  std::unique_ptr<ForkedQuery> asker_;  ///< the kernel may keep who looks waiting
  bool answered_ = false;  ///< then its process is gone, and its number may be another's
};

}  // namespace dt
