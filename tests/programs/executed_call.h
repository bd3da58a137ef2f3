#pragma once

#include "comm/include/dtrain/dtrain.h"
#include "tests/programs/guarded_memory.h"
#include "tests/sim/program.h"

#include <memory>
#include <string>

namespace dt {

/// How a call passes its memory.
enum class BufferPlacement : uint8_t {
  separate,    ///< input and output
  same,        ///< both pointers are equal
  one_buffer,  ///< one pointer is NULL, on the ranks that need only one
};
inline constexpr int placement_count = 3;

/// True when calls of that kind may pass their memory so.
inline bool allows(OperationKind kind, BufferPlacement placement) {
  if (placement == BufferPlacement::separate) return true;
  if (has_own_counts(kind) || kind >= OperationKind::barrier) return false;
  if (placement == BufferPlacement::one_buffer) return kind != OperationKind::reduce_scatter;
  return reduces(kind) || kind == OperationKind::all_to_all || kind == OperationKind::broadcast;
}

/// A rank and the size of its group.
struct GroupPlace {
  int rank = 0;
  int size = 1;
};

/// One rank's part of a call, by the functions of dtrain.h, with its memory and its result.
class ExecutedCall {
 public:
  ExecutedCall(const Call& call, GroupPlace self, BufferPlacement placement)
      : call_(call),
        self_(self),
        placement_(placement),
        input_(std::max(input_count(call, self.rank, self.size),
                        placement == BufferPlacement::same ? output_count(call, self.size) : 0),
               element_bytes(call.type)),
        output_(output_count(call, self.size), element_bytes(call.type)),
        counts_(split_counts(call, self.rank, self.size)) {
    const size_t elements = input_count(call, self.rank, self.size);
    for (size_t i = 0; i < elements && reads_input(); ++i)
      store(call.type, input() + i * element_bytes(call.type), input_value(call, self.rank, i));
  }

  const Call& call() const { return call_; }

  /// Makes the call. Blocks until it is done, and returns its status.
  int run(dtrain_context* context, dtrain_error& error);
  /// Makes the call and returns at once. Returns false when there is no work.
  bool start(dtrain_context* context, dtrain_error& error);
  /// Returns the status of the started call; DTRAIN_PENDING if the time has passed first.
  int wait(int timeout_ms, dtrain_error& error) {
    return dtrain_work_wait(work_.get(), timeout_ms, &error);
  }

  /// Returns a sentence about a wrong result of a call that has succeeded; empty: all is right.
  std::string fault();

 private:
  struct FreeWork {
    void operator()(dtrain_work* work) const { dtrain_work_free(work); }
  };

  /// The memory that holds the input.
  std::byte* input() {
    if (!input_in_output()) return input_.data();
    const bool own_part =
        call_.kind == OperationKind::all_gather || call_.kind == OperationKind::gather;
    const size_t part = call_.count * element_bytes(call_.type);
    return output_.data() + (own_part ? static_cast<size_t>(self_.rank) * part : 0);
  }
  std::byte* output() {
    return placement_ == BufferPlacement::same ? input_.data() : output_.data();
  }
  bool is_root() const { return self_.rank == call_.root; }
  bool receives() const { return call_.is_message() && call_.to == self_.rank; }
  /// False for ranks whose input is not read: it must not need to exist, either.
  bool reads_input() const {
    const bool from_root =
        call_.kind == OperationKind::broadcast || call_.kind == OperationKind::scatter;
    return from_root ? is_root() : !receives();
  }
  bool input_in_output() const {
    if (placement_ != BufferPlacement::one_buffer || call_.kind == OperationKind::scatter)
      return false;
    const bool to_root = call_.kind == OperationKind::reduce || call_.kind == OperationKind::gather;
    return !to_root || is_root();
  }
  bool writes_output() const {
    return call_.kind == OperationKind::broadcast ||
           (has_output(call_, self_.rank) && (!call_.is_message() || receives()));
  }
  dtrain_buffers buffers();
  dtrain_split_buffers split_buffers();
  dtrain_op_options options() const {
    const bool has_priority = call_.by_name && call_.kind != OperationKind::join;
    return {.struct_size = sizeof(dtrain_op_options),
            .name = call_.name.empty() ? nullptr : call_.name.c_str(),
            .timeout_ms = 0,
            .prescale = call_.prescale == 1 ? 0 : call_.prescale,
            .postscale = call_.postscale == 1 ? 0 : call_.postscale,
            .average_over = call_.average_active ? DTRAIN_ACTIVE_RANKS : DTRAIN_ALL_RANKS,
            .compression = static_cast<int>(call_.compression),
            .priority = has_priority ? call_.priority + self_.rank : 0};
  }
  std::vector<dtrain_buffers> tensors();
  int run_with_result(dtrain_context* context, const dtrain_op_options& with, dtrain_error& error);
  dtrain_work* start_work(dtrain_context* context, const dtrain_op_options& with,
                          dtrain_error& error);
  bool has_right_result();
  bool has_right_parts();

  Call call_;
  GroupPlace self_;
  BufferPlacement placement_;
  GuardedMemory input_;
  GuardedMemory output_;
  std::vector<size_t> counts_;
  std::unique_ptr<dtrain_work, FreeWork> work_;
};

}  // namespace dt
