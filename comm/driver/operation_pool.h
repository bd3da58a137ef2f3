#pragma once

#include "comm/engine/engine.h"

#include <memory>
#include <utility>
#include <vector>

namespace dt {

/// Operations that calls use one after the other, so that a call allocates no memory. An operation
/// keeps the memory of its name. For one thread at a time.
class OperationPool {
 public:
  /// Up to this many calls at the same time allocate no memory.
  static constexpr size_t kept_max = 8;

  OperationPool() {
    kept_.reserve(kept_max);
    for (size_t i = 0; i < kept_max; ++i)
      kept_.push_back(std::make_shared<Operation>());
  }

  std::shared_ptr<Operation> take() {
    if (kept_.empty()) return std::make_shared<Operation>();
    std::shared_ptr<Operation> operation = std::move(kept_.back());
    kept_.pop_back();
    return operation;
  }
  /// Keeps an operation that has ended, unless another owner still has it.
  void put(std::shared_ptr<Operation> operation) {
    if (kept_.size() == kept_max || operation.use_count() > 1) return;
    operation->sequence = 0;
    operation->request.result.reset();
    if (operation->request.terms) operation->request.scaled_input.reset();
    operation->outcome.reset();
    operation->blamed_rank = -1;
    operation->failed_part.reset();
    kept_.push_back(std::move(operation));
  }

 private:
  std::vector<std::shared_ptr<Operation>> kept_;
};

}  // namespace dt
