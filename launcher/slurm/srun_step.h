#pragma once

#include "base/clock.h"
#include "base/environment.h"
#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The step of a Slurm job in which srun starts the agents of other hosts.
struct SrunStep {
  std::vector<std::string> nodes;  ///< of the job
  std::vector<std::string> hosts;  ///< those of the nodes that get an agent
  std::vector<std::string> words;  ///< options of the user
  std::string executable;          ///< the path of dtrain here, which the hosts may share
  std::string stamp;               ///< its size, time and inode, as `stat -c %s.%Y.%i`
  std::string sha256;              ///< its digest as hex digits
  Duration patience;               ///< how long it may wait for nodes that another step holds
  /// The path at which sbcast puts the executable on all nodes, where no file is yet. Empty: the
  /// hosts look for it.
  std::string copy = {};
  bool beside = false;  ///< another step of dtrain holds some of the nodes
};

/// A program with its arguments and its variables.
struct SrunCommand {
  std::vector<std::string> words;
  Environment environment;
  bool operator==(const SrunCommand&) const = default;
};

/// Returns the command that starts `dtrain agent dial` on each host. `environment` has the
/// variables of the job. Fails with Errc::input when those of a heterogeneous job are wrong, and
/// with Errc::unreachable when the job has a total of GPUs, which two steps cannot share.
///
/// A host runs the executable from the same path, or from its own cache. Its stamp or its digest
/// must be the launcher's. A host without either prints its name, and ends its part of the step.
/// With `copy` the hosts run the file of sbcast from a folder of mode 700, if it has the digest. A
/// host whose copy does not run prints a line for stderr. An sbcast that hangs ends after
/// `patience`, at most 60 s. No node keeps a copy. Where the user's words choose a container, a
/// host without the executable names the mount.
Result<SrunCommand> srun_command(const SrunStep& step, const Environment& environment);

/// Returns what a user can do about these messages of srun; empty: nothing known.
std::string srun_remedy(std::string_view messages);

}  // namespace dt
