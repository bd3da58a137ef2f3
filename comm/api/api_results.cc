#include "base/format.h"
#include "comm/api/api_support.h"
#include "comm/driver/driver.h"
#include "comm/include/dtrain/dtrain.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

namespace dt {

namespace {

/// Returns a call whose result the engine allocates. The buffers are not in it yet.
Result<OperationRequest> empty_call(OperationKind kind, const Context& context,
                                    const dtrain_op_options* given, int type) {
  const dtrain_op_options options = TRY(read_op_options(given));
  OperationRequest call = request_of(kind, context, options);
  call.name = name_of(options);
  call.type = TRY(type_of(type, options));
  call.result = std::make_shared<OperationResult>();
  return call;
}

Result<OperationRequest> split_call(OperationKind kind, const Context& context,
                                    const dtrain_split_buffers* given,
                                    const dtrain_op_options* options) {
  if (given == nullptr) return fail(Errc::input, "the dtrain_split_buffers are NULL");
  const dtrain_split_buffers buffers = TRY(read_struct(given, "dtrain_split_buffers"));
  if (buffers.counts == nullptr) return fail(Errc::input, "dtrain_split_buffers.counts is NULL");
  OperationRequest call = TRY(empty_call(kind, context, options, buffers.type));
  call.input = buffers.input;
  call.counts.assign(buffers.counts, buffers.counts + context.layout().size);
  TRY(count_bytes(call));
  return call;
}

Result<OperationRequest> all_to_all_call(const Context& context, const dtrain_split_buffers* given,
                                         const dtrain_op_options* options) {
  return split_call(OperationKind::all_to_all_v, context, given, options);
}

Result<OperationRequest> reduce_scatter_call(const Context& context,
                                             const dtrain_split_buffers* given,
                                             const dtrain_op_options* options) {
  OperationRequest call = TRY(split_call(OperationKind::reduce_scatter, context, given, options));
  const dtrain_split_buffers buffers = TRY(read_struct(given, "dtrain_split_buffers"));
  call.reduce = TRY(reduce_of(buffers.op));
  return call;
}

Result<OperationRequest> ragged_call(const Context& context, dtrain_buffers buffers,
                                     const dtrain_op_options* options) {
  if (buffers.output != nullptr) {
    return fail(Errc::input,
                "dtrain_buffers.output must be NULL: dtrain_work_result returns the result");
  }
  OperationRequest call =
      TRY(empty_call(OperationKind::all_gather_v, context, options, buffers.type));
  call.input = buffers.input;
  call.count = buffers.count;
  TRY(count_bytes(call));
  return call;
}

Result<OperationRequest> join_call(const Context& context, const dtrain_op_options* options) {
  return empty_call(OperationKind::join, context, options, DTRAIN_INT32);
}

/// Starts the call that `make` returns for a context.
template <class Make>
Result<std::unique_ptr<dtrain_work>> started(dtrain_context* handle, const Make& make) {
  auto context = TRY(usable(handle));
  const OperationRequest call = TRY(make(*context));
  auto work = std::make_unique<dtrain_work>();
  work->result = call.result;
  const bool opaque = call.terms && call.terms->element_bytes > 0;
  work->result_type = opaque ? DTRAIN_OPAQUE : static_cast<dtrain_type>(type_number(call.type));
  work->work = TRY(context->start(call));
  work->context = std::move(context);
  return work;
}

template <class Make>
int run_with_result(dtrain_context* handle, const Make& make, dtrain_work** into,
                    dtrain_error* error) {
  if (into != nullptr) *into = nullptr;
  return report_call(error, [&]() -> Result<> {
    if (into == nullptr)
      return fail(Errc::input, "the pointer to the work, which gets the result, is NULL");
    auto work = TRY(started(handle, make));
    TRY(*work->context->driver().wait(work->work, Time::max()));
    *into = work.release();
    return {};
  });
}

int run_join(dtrain_context* handle, int* last, const dtrain_op_options* options,
             dtrain_error* error) {
  return report_call(error, [&]() -> Result<> {
    const auto context = TRY(usable(handle));
    OperationRequest call = TRY(join_call(*context, options));
    const std::shared_ptr<OperationResult> result = call.result;
    TRY(context->run(std::move(call)));
    if (last != nullptr) std::memcpy(last, result->data.get(), sizeof *last);
    return {};
  });
}

template <class Make>
dtrain_work* start_with_result(dtrain_context* handle, const Make& make, dtrain_error* error) {
  return make_handle(error, [&] { return started(handle, make); });
}

Result<dtrain_result> result_of(dtrain_work* work) {
  const auto context = TRY(usable(work));
  if (!work->result)
    return fail(Errc::input, "the operation of this work has no result of its own");
  const auto outcome = context->driver().wait(work->work, Clock::now());
  if (!outcome) return fail(Errc::input, "the operation is not done yet; call dtrain_work_wait");
  if (!*outcome) {
    return fail(Errc::input, format("there is no result, because the operation failed: {}",
                                    outcome->error().message));
  }
  const std::vector<size_t>& counts = work->result->counts;
  return dtrain_result{.struct_size = sizeof(dtrain_result),
                       .data = work->result->at(),
                       .count = std::accumulate(counts.begin(), counts.end(), size_t{0}),
                       .counts = counts.data(),
                       .ranks = static_cast<int>(counts.size()),
                       .type = work->result_type};
}

}  // namespace

}  // namespace dt

int dtrain_all_to_all_v(dtrain_context* context, const dtrain_split_buffers* buffers,
                        dtrain_work** work, const dtrain_op_options* options, dtrain_error* error) {
  return dt::run_with_result(
      context,
      [&](const dt::Context& joined) { return dt::all_to_all_call(joined, buffers, options); },
      work, error);
}

int dtrain_reduce_scatter_v(dtrain_context* context, const dtrain_split_buffers* buffers,
                            dtrain_work** work, const dtrain_op_options* options,
                            dtrain_error* error) {
  return dt::run_with_result(
      context,
      [&](const dt::Context& joined) { return dt::reduce_scatter_call(joined, buffers, options); },
      work, error);
}

int dtrain_all_gather_v(dtrain_context* context, dtrain_buffers buffers, dtrain_work** work,
                        const dtrain_op_options* options, dtrain_error* error) {
  return dt::run_with_result(
      context, [&](const dt::Context& joined) { return dt::ragged_call(joined, buffers, options); },
      work, error);
}

dtrain_work* dtrain_all_to_all_v_async(dtrain_context* context, const dtrain_split_buffers* buffers,
                                       const dtrain_op_options* options, dtrain_error* error) {
  return dt::start_with_result(
      context,
      [&](const dt::Context& joined) { return dt::all_to_all_call(joined, buffers, options); },
      error);
}

dtrain_work* dtrain_reduce_scatter_v_async(dtrain_context* context,
                                           const dtrain_split_buffers* buffers,
                                           const dtrain_op_options* options, dtrain_error* error) {
  return dt::start_with_result(
      context,
      [&](const dt::Context& joined) { return dt::reduce_scatter_call(joined, buffers, options); },
      error);
}

dtrain_work* dtrain_all_gather_v_async(dtrain_context* context, dtrain_buffers buffers,
                                       const dtrain_op_options* options, dtrain_error* error) {
  return dt::start_with_result(
      context, [&](const dt::Context& joined) { return dt::ragged_call(joined, buffers, options); },
      error);
}

int dtrain_join(dtrain_context* context, int* last, const dtrain_op_options* options,
                dtrain_error* error) {
  return dt::run_join(context, last, options, error);
}

dtrain_work* dtrain_join_async(dtrain_context* context, const dtrain_op_options* options,
                               dtrain_error* error) {
  return dt::start_with_result(
      context, [&](const dt::Context& joined) { return dt::join_call(joined, options); }, error);
}

int dtrain_work_result(dtrain_work* work, dtrain_result* result, dtrain_error* error) {
  return dt::fill_struct(result, "dtrain_result", error, [&] { return dt::result_of(work); });
}
