#pragma once

#include "comm/training/strategy/strategy.h"

#include <string>

namespace dt {

/// Writes all variables to a file, by rank 0. A collective; see dtrain_strategy_save.
Result<> save_variables(Strategy& strategy, const std::string& path);
/// Sets all variables to those of a file, which rank 0 reads. A collective; see
/// dtrain_strategy_restore.
Result<> restore_variables(Strategy& strategy, const std::string& path);

}  // namespace dt
