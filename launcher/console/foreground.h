#pragma once

namespace dt {

/// True if another process group than ours is in the foreground of our terminal: `dtrain run … &`.
/// A read would stop us then (SIGTTIN), and a changing line would disturb the user. False for a
/// descriptor that is not our terminal.
bool in_background(int terminal);

}  // namespace dt
