#pragma once

#include "base/result.h"
#include "launcher/sync/setup/setup_order.h"

namespace dt {

/// Sets this host up for a job: runs the commands one after the other, with DTRAIN_SETUP_DIR, while
/// no other job uses that folder. With --setup-once, leaves out commands that succeeded there with
/// the same files, and all of them while another job runs there.
///
/// Then removes setups that no job has used for 30 days.
///
/// Blocks, until the commands have ended and left no process. Requires a process without other
/// children. Fails with Errc::input for a command that fails, Errc::timeout when other jobs use the
/// folder for too long, Errc::os when it cannot be made.
Result<SetupDone> run_setup(const SetupOrder& order, const SetupEvents& events);

/// For a host that shares the folder with one that has run the setup: takes its lock, and runs
/// nothing.
Result<SetupDone> join_setup(const SetupOrder& order, const SetupEvents& events);

}  // namespace dt
