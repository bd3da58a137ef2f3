#pragma once

#include <ctime>
#include <functional>
#include <string>

namespace dt {

/// Prunes FOLDER/SHA256/dtrain, a host's cache of executables. Called by the process of
/// `executable`; does nothing for a path of another form.
///
/// Once a day at most, marks the executable as used by the file's time. Then compares its `digest`
/// (empty: unknown) with its name. A copy with another digest is retired. Copies that were not used
/// for 30 days are retired, too. Files of interrupted transfers are removed after a day.
///
/// Hosts may share the folder, and each may run another version. Some network file systems take a
/// running program's file away when another host removes it. So a retired copy is renamed to
/// SHA256.old, where no script starts it. It is removed a day later, unless a process that was
/// started just before has marked it since.
///
/// `now` is wall-clock time, since it must outlive a boot. If it is wrong, an executable is sent
/// once more.
void prune_executable_cache(const std::string& executable, std::time_t now,
                            const std::function<std::string()>& digest);

}  // namespace dt
