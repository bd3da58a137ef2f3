#pragma once

#include "comm/api/api_support.h"
#include "comm/include/dtrain/dtrain_strategy.h"
#include "comm/training/strategy/saved_variables.h"
#include "comm/training/strategy/strategy.h"

#include <memory>
#include <string>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): the names of C's opaque types
struct dtrain_variable {
  dtrain_strategy* strategy = nullptr;
  dt::Variable* variable = nullptr;
};
struct dtrain_strategy {
  std::unique_ptr<dt::Strategy> strategy = {};
  std::vector<std::string> device_names = {};  ///< by local replica
  std::vector<std::unique_ptr<dtrain_variable>> variables = {};
};
struct dtrain_replica {
  dtrain_strategy& strategy;
  dt::Replica& replica;
};
// NOLINTEND(readability-identifier-naming)

namespace dt {

/// Returns a handle of the C functions.
std::unique_ptr<dtrain_strategy> new_handle(std::unique_ptr<Strategy> strategy);
Result<> check_handle(const dtrain_strategy* strategy);

}  // namespace dt
