#pragma once

#include "launcher/sync/server/sync_events.h"

#include <string>
#include <string_view>

namespace dt {

/// Returns how to make room on a host, to be put behind the reason of its failure. Empty unless the
/// reason is a full disk or a quota. An error has no number, so this reads its text.
std::string room_advice(const HostOrder& host, std::string_view why);

}  // namespace dt
