#pragma once

#include "choices/operation_kind.h"

#include <string_view>

namespace dt {

/// For `dtrain run --dump-stacks`. From now on SIGQUIT writes to stderr the last operation of each
/// thread. It also writes the stack of the thread that handles the signal. The process continues.
/// Does nothing if the program has a handler for SIGQUIT. May be called again. The library must
/// stay loaded.
void install_stack_dump();

/// While it lives, this thread is in the call of an operation; afterwards, it has returned from it.
/// Costs one load unless install_stack_dump() has installed the handler.
class OperationMark {
 public:
  OperationMark(OperationKind kind, std::string_view name)
      : OperationMark(kind_name(kind).data(), name) {}
  /// The same for a call that is no operation. `call` is a text for the life of the process.
  OperationMark(const char* call, std::string_view name);
  OperationMark(const OperationMark&) = delete;
  OperationMark& operator=(const OperationMark&) = delete;
  ~OperationMark();

 private:
  void* entry_ = nullptr;  ///< of this thread in the list of threads; null: it has none
};

}  // namespace dt
