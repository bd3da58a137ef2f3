#pragma once

#include "comm/engine/engine.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace dt {

/// The arguments of an operation while its call lasts. It owns only the result, so that a small
/// call copies no string and no vector. The fields are those of OperationRequest.
struct CallArguments {
  OperationKind kind = OperationKind::barrier;
  ElementType type = ElementType::float32;
  ReduceOp reduce = ReduceOp::sum;
  uint32_t group = 0;
  int peer = 0;
  size_t count = 0;
  const void* input = nullptr;
  void* output = nullptr;
  std::string_view name = {};
  Duration timeout = Duration::zero();
  std::span<const size_t> counts = {};
  std::shared_ptr<OperationResult> result = {};

  /// Makes `request` that of this call. It may be that of an earlier call, whose memory it keeps.
  void fill(OperationRequest& request) const;
};

}  // namespace dt
