#pragma once

namespace dt {

/// Executes the processor's instruction for a loop that waits for memory to change. It saves power,
/// and leaves the core to its other hardware thread for some 40 to 140 cycles.
void spin_pause();

}  // namespace dt
