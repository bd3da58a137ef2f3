#include "tests/programs/executed_call.h"

#include "comm/include/dtrain/dtrain_work.h"

namespace dt {

dtrain_buffers ExecutedCall::buffers() {
  dtrain_buffers buffers{.input = input_in_output() ? nullptr : input_.data(),
                         .output = output(),
                         .count = call_.count,
                         .type = static_cast<dtrain_type>(type_number(call_.type))};
  if (call_.kind == OperationKind::all_gather_v) {
    buffers.count = ragged_count(call_, self_.rank);
    buffers.output = nullptr;
  }
  if (placement_ != BufferPlacement::one_buffer) return buffers;
  const bool to_root = call_.kind == OperationKind::reduce || call_.kind == OperationKind::gather;
  const bool scatters = call_.kind == OperationKind::scatter;
  if (to_root ? !is_root() : scatters && is_root()) buffers.output = nullptr;
  if (scatters && !is_root()) buffers.input = nullptr;
  return buffers;
}

dtrain_split_buffers ExecutedCall::split_buffers() {
  return {.struct_size = sizeof(dtrain_split_buffers),
          .input = input_.data(),
          .counts = counts_.data(),
          .type = static_cast<dtrain_type>(type_number(call_.type))};
}

std::vector<dtrain_buffers> ExecutedCall::tensors() {
  const dtrain_buffers all = buffers();
  const size_t bytes = element_bytes(call_.type);
  std::vector<dtrain_buffers> tensors;
  for (const auto& [begin, end] : tensor_ranges(call_)) {
    dtrain_buffers tensor = all;
    if (tensor.input != nullptr)
      tensor.input = static_cast<const std::byte*>(all.input) + begin * bytes;
    tensor.output = static_cast<std::byte*>(all.output) + begin * bytes;
    tensor.count = end - begin;
    tensors.push_back(tensor);
  }
  return tensors;
}

int ExecutedCall::run(dtrain_context* context, dtrain_error& error) {
  const dtrain_op_options with = options();
  const auto op = static_cast<dtrain_op>(call_.reduce);
  if (has_own_counts(call_.kind)) return run_with_result(context, with, error);
  if (receives()) return dtrain_recv(context, buffers(), call_.from, &with, &error);
  if (call_.tensors > 0) {
    const std::vector<dtrain_buffers> parts = tensors();
    const dtrain_tensor_list list = {
        .struct_size = sizeof list, .tensors = parts.data(), .count = parts.size()};
    return dtrain_all_reduce_list(context, &list, op, &with, &error);
  }
  switch (call_.kind) {
    case OperationKind::all_reduce:
      return dtrain_all_reduce(context, buffers(), op, &with, &error);
    case OperationKind::broadcast:
      return dtrain_broadcast(context, buffers(), call_.root, &with, &error);
    case OperationKind::all_gather:
      return dtrain_all_gather(context, buffers(), &with, &error);
    case OperationKind::reduce_scatter:
      return dtrain_reduce_scatter(context, buffers(), op, &with, &error);
    case OperationKind::reduce:
      return dtrain_reduce(context, buffers(), op, call_.root, &with, &error);
    case OperationKind::gather:
      return dtrain_gather(context, buffers(), call_.root, &with, &error);
    case OperationKind::scatter:
      return dtrain_scatter(context, buffers(), call_.root, &with, &error);
    case OperationKind::all_to_all:
      return dtrain_all_to_all(context, buffers(), &with, &error);
    case OperationKind::send:
      return dtrain_send(context, buffers(), call_.to, &with, &error);
    case OperationKind::join:
      return dtrain_join(context, nullptr, &with, &error);
    default:
      return dtrain_barrier(context, &with, &error);
  }
}

int ExecutedCall::run_with_result(dtrain_context* context, const dtrain_op_options& with,
                                  dtrain_error& error) {
  dtrain_work* work = nullptr;
  const dtrain_split_buffers split = split_buffers();
  const int status = call_.kind == OperationKind::all_to_all_v
                         ? dtrain_all_to_all_v(context, &split, &work, &with, &error)
                         : dtrain_all_gather_v(context, buffers(), &work, &with, &error);
  work_.reset(work);
  return status;
}

bool ExecutedCall::start(dtrain_context* context, dtrain_error& error) {
  const dtrain_op_options with = options();
  work_.reset(start_work(context, with, error));
  return work_ != nullptr;
}

dtrain_work* ExecutedCall::start_work(dtrain_context* context, const dtrain_op_options& with,
                                      dtrain_error& error) {
  const auto op = static_cast<dtrain_op>(call_.reduce);
  const dtrain_split_buffers split = split_buffers();
  if (receives()) return dtrain_recv_async(context, buffers(), call_.from, &with, &error);
  if (call_.tensors > 0) {
    const std::vector<dtrain_buffers> parts = tensors();
    const dtrain_tensor_list list = {
        .struct_size = sizeof list, .tensors = parts.data(), .count = parts.size()};
    return dtrain_all_reduce_list_async(context, &list, op, &with, &error);
  }
  switch (call_.kind) {
    case OperationKind::all_reduce:
      return dtrain_all_reduce_async(context, buffers(), op, &with, &error);
    case OperationKind::broadcast:
      return dtrain_broadcast_async(context, buffers(), call_.root, &with, &error);
    case OperationKind::all_gather:
      return dtrain_all_gather_async(context, buffers(), &with, &error);
    case OperationKind::reduce_scatter:
      return dtrain_reduce_scatter_async(context, buffers(), op, &with, &error);
    case OperationKind::reduce:
      return dtrain_reduce_async(context, buffers(), op, call_.root, &with, &error);
    case OperationKind::gather:
      return dtrain_gather_async(context, buffers(), call_.root, &with, &error);
    case OperationKind::scatter:
      return dtrain_scatter_async(context, buffers(), call_.root, &with, &error);
    case OperationKind::all_to_all:
      return dtrain_all_to_all_async(context, buffers(), &with, &error);
    case OperationKind::all_to_all_v:
      return dtrain_all_to_all_v_async(context, &split, &with, &error);
    case OperationKind::all_gather_v:
      return dtrain_all_gather_v_async(context, buffers(), &with, &error);
    case OperationKind::send:
      return dtrain_send_async(context, buffers(), call_.to, &with, &error);
    case OperationKind::join:
      return dtrain_join_async(context, &with, &error);
    default:
      return dtrain_barrier_async(context, &with, &error);
  }
}

std::string ExecutedCall::fault() {
  if (!input_.guards_hold() || !output_.guards_hold()) return "wrote beside its memory";
  if (has_own_counts(call_.kind)) return has_right_parts() ? "" : "has wrong parts";
  if (!writes_output() && !input_in_output() && !output_.untouched())
    return "wrote into an output that is not its own";
  return has_right_result() ? "" : "has a wrong result";
}

bool ExecutedCall::has_right_result() {
  // A scatter whose root has no output copies nothing there.
  const bool no_output = call_.kind == OperationKind::scatter && is_root() &&
                         placement_ == BufferPlacement::one_buffer;
  if (!writes_output() || no_output) return true;
  const Bytes wanted = expected_output(call_, self_.rank, self_.size);
  return std::equal(wanted.begin(), wanted.end(), output());
}

bool ExecutedCall::has_right_parts() {
  dtrain_result result = {};
  result.struct_size = sizeof result;
  dtrain_error error = {};
  error.struct_size = sizeof error;
  if (dtrain_work_result(work_.get(), &result, &error) != DTRAIN_OK) return false;
  const std::vector<size_t> counts = received_counts(call_, self_.rank, self_.size);
  const Bytes parts = expected_parts(call_, self_.rank, self_.size);
  return result.ranks == self_.size && std::equal(counts.begin(), counts.end(), result.counts) &&
         result.count * element_bytes(call_.type) == parts.size() &&
         std::equal(parts.begin(), parts.end(), static_cast<const std::byte*>(result.data));
}

}  // namespace dt
