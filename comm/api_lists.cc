#include "base/format.h"
#include "comm/api_support.h"
#include "comm/dtrain_work.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// A call of several tensors. `arguments` refers to `tensors`.
struct ListCall {
  std::vector<CallTensor> tensors;
  CallArguments arguments;
};

Result<std::vector<CallTensor>> tensors_of(const dtrain_tensor_list* given,
                                           const dtrain_op_options& options) {
  if (given == nullptr) return fail(Errc::input, "the dtrain_tensor_list is NULL");
  const dtrain_tensor_list list = TRY(read_struct(given, "dtrain_tensor_list"));
  if (list.tensors == nullptr && list.count > 0)
    return fail(Errc::input, "dtrain_tensor_list.tensors is NULL");
  if (list.shapes != nullptr && list.dims == nullptr)
    return fail(Errc::input, "dtrain_tensor_list.dims is NULL, but shapes is not");
  std::vector<CallTensor> tensors;
  tensors.reserve(list.count);
  for (size_t i = 0; i < list.count; ++i) {
    const dtrain_buffers& buffers = list.tensors[i];
    const void* input = buffers.input == nullptr ? buffers.output : buffers.input;
    const ElementType type = TRY(type_of(buffers.type, options));
    CallTensor& tensor = tensors.emplace_back();
    tensor = {type, buffers.count, input, buffers.output};
    if (list.shapes == nullptr) continue;
    if (list.dims[i] < 0 || (list.dims[i] > 0 && list.shapes[i] == nullptr))
      return fail(Errc::input, format("the shape of tensor {} is not complete", i + 1));
    tensor.shape.emplace(list.shapes[i], static_cast<size_t>(list.dims[i]));
  }
  // An empty list matches empty ones only.
  if (tensors.empty()) tensors.emplace_back();
  return tensors;
}

Result<ListCall> list_call(const Context& context, const dtrain_tensor_list* list, int op,
                           const dtrain_op_options* given) {
  const dtrain_op_options options = TRY(read_op_options(given));
  if (options.shape != nullptr) {
    return fail(Errc::input,
                "dtrain_op_options.shape must be NULL: dtrain_tensor_list.shapes has the shapes");
  }
  const ReduceOp reduce = TRY(reduce_of(op));
  std::vector<CallTensor> tensors = TRY(tensors_of(list, options));
  ListCall call{.tensors = std::move(tensors), .arguments = {}};
  call.arguments = {.kind = OperationKind::all_reduce,
                    .reduce = reduce,
                    .group = context.group(),
                    .name = options.name == nullptr ? "" : options.name,
                    .timeout = milliseconds(options.timeout_ms),
                    .priority = options.priority,
                    .tensors = call.tensors,
                    .terms = terms_of(options)};
  return call;
}

}  // namespace

}  // namespace dt

int dtrain_all_reduce_list(dtrain_context* context, const dtrain_tensor_list* list, int op,
                           const dtrain_op_options* options, dtrain_error* error) {
  const auto body = [&]() -> dt::Result<dt::Driver::Outcome> {
    const auto joined = TRY(dt::usable(context == nullptr ? nullptr : &context->context));
    const dt::ListCall call = TRY(dt::list_call(*joined, list, op, options));
    return joined->driver().run(call.arguments);
  };
  const dt::Result<dt::Driver::Outcome> outcome = dt::guarded(body);
  return outcome ? dt::report_outcome(*outcome, error) : dt::report(error, outcome.error());
}

dtrain_work* dtrain_all_reduce_list_async(dtrain_context* context, const dtrain_tensor_list* list,
                                          int op, const dtrain_op_options* options,
                                          dtrain_error* error) {
  const auto body = [&]() -> dt::Result<dtrain_work*> {
    auto joined = TRY(dt::usable(context == nullptr ? nullptr : &context->context));
    const dt::ListCall call = TRY(dt::list_call(*joined, list, op, options));
    auto work = std::make_unique<dtrain_work>();
    work->work = joined->driver().start(call.arguments);
    work->context = std::move(joined);
    return work.release();
  };
  const dt::Result<dtrain_work*> work = dt::guarded(body);
  if (!work) {
    dt::report(error, work.error());
    return nullptr;
  }
  dt::report_success(error);
  return *work;
}
