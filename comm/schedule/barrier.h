#pragma once

#include "comm/schedule/schedule.h"

namespace dt {

/// Ends on every rank after all ranks have started it (Hensgen, Finkel and Manber 1988). Each step
/// sends element 0 of the work memory and receives into element 1.
Steps dissemination_barrier(Group group);

}  // namespace dt
