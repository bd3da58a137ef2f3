#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/option_source.h"

namespace dt {

/// Reads --sync and the options that belong to it into config.sync and config.fetch. The nearest
/// source that has
/// --sync, --sync-from or --sync-to decides whether there is a tree. Requires that
/// config.external_cluster is read.
Result<> read_sync(const OptionSources& sources, RunConfig& config);

}  // namespace dt
