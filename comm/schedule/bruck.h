#pragma once

#include "comm/schedule/schedule.h"

namespace dt {

// Schedules of Bruck and others (1997): log2(n) rounds over distances that double, for small parts.
// Each rank first orders its parts by their distance from itself. Input and output may be the same
// buffer.

/// As ring_all_gather.
Steps bruck_all_gather(Group group, size_t count);
/// As pairwise_all_to_all. A part travels once for each set bit of its distance.
Steps bruck_all_to_all(Group group, size_t count);

}  // namespace dt
