#pragma once

#include <ctime>
#include <functional>
#include <string>

namespace dt {

/// Looks after FOLDER/SHA256/dtrain, where a host keeps executables that it was sent, on behalf of
/// the one that runs; does nothing for another kind of path. Marks its use by the file's time, once
/// a day at most, and then asks for its `digest` (empty: unknown): a copy that is not what its name
/// says is used no more. Removes copies that were not used for 30 days, and what interrupted
/// sendings have left.
///
/// Hosts may share the folder, each running another version, over a file system that takes a
/// running program's file away when another host removes it. So a copy that is to go is first
/// renamed to SHA256.old, where nobody starts it, and removed a day later unless it was marked
/// since: by somebody who started it just before.
///
/// `now` is the wall's clock, since it must outlive a boot; a wrong one costs one more sending.
void tend_kept_copies(const std::string& executable, std::time_t now,
                      const std::function<std::string()>& digest);

}  // namespace dt
