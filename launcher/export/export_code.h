#pragma once

#include "base/result.h"
#include "launcher/config/sync/sync_options.h"
#include "launcher/export/export_job.h"
#include "launcher/sync/source/find_tree.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns the tree that --sync would copy, without its files; none for a repository elsewhere.
Result<std::optional<ExportedCode>> find_code(const RunConfig& config, const std::string& folder);

/// Reads the files of the code that --sync would copy, unless they have more than `bytes_max` bytes
/// together. Adds warnings about entries that are no files. Fails with Errc::input as find_tree()
/// does, and for a file that cannot be read.
Result<> read_code(const SyncOptions& sync, const UserPlace& place, uint64_t bytes_max,
                   ExportJob& job);

}  // namespace dt
