#pragma once

#include "base/io/fd.h"

namespace dt {

/// Runs in the sync process of a host: puts the tree of a job where the launcher wants it, as the
/// messages of launcher/sync/messages.h have it. Returns when the launcher closes the connection.
void serve_sync(Fd connection);

}  // namespace dt
