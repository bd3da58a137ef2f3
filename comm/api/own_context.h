#pragma once

#include "comm/include/dtrain/dtrain.h"

#include <memory>

namespace dt {

/// Finalizes a context, but leaves it as it is in a fork of its process.
struct FinalizeContext {
  void operator()(dtrain_context* context) const { dtrain_finalize(context); }
};
using OwnContext = std::unique_ptr<dtrain_context, FinalizeContext>;

}  // namespace dt
