#pragma once

#include "comm/engine/engine.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace dt {

/// OperationTerms while a call lasts.
struct CallTerms {
  double prescale = 1;
  double postscale = 1;
  bool average_active = false;
  Compression compression = Compression::none;
  Quorum quorum = {};
  std::string_view element = {};
  uint32_t element_bytes = 0;  ///< more than 0: the counts of the call are in elements of this size
  std::optional<std::span<const size_t>> shape = {};
};

/// TensorOfList while a call lasts.
struct CallTensor {
  ElementType type = ElementType::float32;
  size_t count = 0;
  const void* input = nullptr;
  void* output = nullptr;
  std::optional<std::span<const size_t>> shape = {};
};

/// The arguments of an operation while its call lasts. It owns only the result, so that a small
/// call copies no string and no vector. The fields but `stream` are those of OperationRequest.
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
  bool in_sequence = false;
  Duration timeout = Duration::zero();
  int priority = 0;
  std::span<const size_t> counts = {};
  std::span<const CallTensor> tensors = {};
  std::shared_ptr<OperationResult> result = {};
  std::optional<CallTerms> terms = {};
  void* stream = nullptr;  ///< of the caller, for buffers in memory of a device; null: none

  /// Makes `request` that of this call. It may be that of an earlier call, whose memory it keeps.
  void fill(OperationRequest& request) const;

 private:
  void fill_tensors(OperationRequest& request) const;
  void fill_terms(OperationRequest& request) const;
};

}  // namespace dt
