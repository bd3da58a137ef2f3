#include "base/format.h"
#include "base/text.h"
#include "comm/api/api_support.h"
#include "comm/collective/reduce.h"
#include "comm/driver/driver.h"
#include "comm/engine/engine.h"
#include "comm/include/dtrain/dtrain.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace dt {

Result<ElementType> type_of(int type, const dtrain_op_options& options) {
  if (type == DTRAIN_OPAQUE) {
    if (options.element != nullptr && options.element[0] != '\0') return ElementType::uint8;
    return fail(Errc::input, "DTRAIN_OPAQUE needs dtrain_op_options.element, the elements' name");
  }
  if (options.element != nullptr || options.element_bytes != 0) {
    return fail(Errc::input,
                "dtrain_op_options.element and element_bytes are of DTRAIN_OPAQUE alone");
  }
  if (const auto found = type_with_number(type)) return *found;
  return fail(Errc::input, format("type {} is no dtrain_type", type));
}

Result<> count_bytes(OperationRequest& request) {
  if (!request.terms || request.terms->element_bytes == 0) return {};
  const OperationTerms& terms = *request.terms;
  const auto multiply = [&](size_t& count) -> Result<> {
    if (count > SIZE_MAX / 2 / terms.element_bytes)
      return fail(Errc::input, format("{}[{}] is too large", printable(terms.element), count));
    count *= terms.element_bytes;
    return {};
  };
  TRY(multiply(request.count));
  for (size_t& count : request.counts)
    TRY(multiply(count));
  return {};
}

OperationRequest request_of(OperationKind kind, const Context& context,
                            const dtrain_op_options& options) {
  return {.kind = kind,
          .group = context.group(),
          .timeout = milliseconds(options.timeout_ms),
          .priority = options.priority,
          .terms = terms_of(options),
          .stream = options.stream};
}

Result<ReduceOp> reduce_of(dtrain_op op) {
  if (op >= DTRAIN_SUM && op <= DTRAIN_ADASUM) return static_cast<ReduceOp>(op);
  return fail(Errc::input, format("reduction {} is no dtrain_op", op));
}

namespace {

/// One call of a user, before it is checked.
struct UserCall {
  OperationKind kind = OperationKind::barrier;
  dtrain_buffers buffers = {};
  dtrain_op op = DTRAIN_SUM;
  int peer = 0;
};

// The public numbers begin at 1, so that a forgotten type is an error and not int8.
static_assert(DTRAIN_INT8 == type_number(ElementType::int8));
static_assert(DTRAIN_FLOAT16 == type_number(ElementType::float16));
static_assert(DTRAIN_FLOAT64 == type_number(ElementType::float64));
static_assert(DTRAIN_BOOL == type_number(ElementType::boolean));
static_assert(DTRAIN_FLOAT8_E4M3 == type_number(ElementType::float8_e4m3));
static_assert(DTRAIN_FLOAT8_E5M2 == type_number(ElementType::float8_e5m2));
static_assert(DTRAIN_AVERAGE == static_cast<int>(ReduceOp::average));
static_assert(DTRAIN_PRODUCT == static_cast<int>(ReduceOp::product));
static_assert(DTRAIN_ADASUM == static_cast<int>(ReduceOp::adasum));

/// Returns the input of elements of that size. Without an input, returns the part of the output
/// that holds it, where that has a meaning.
const void* input_of(const UserCall& call, size_t bytes, int rank) {
  if (call.buffers.input != nullptr || call.buffers.output == nullptr) return call.buffers.input;
  switch (call.kind) {
    case OperationKind::all_reduce:
    case OperationKind::broadcast:
    case OperationKind::reduce:
    case OperationKind::all_to_all:
      return call.buffers.output;
    case OperationKind::all_gather:
    case OperationKind::gather:
      return static_cast<const std::byte*>(call.buffers.output) +
             call.buffers.count * bytes * static_cast<size_t>(rank);
    default:
      return nullptr;
  }
}

/// Adds what the options do not have.
Result<> complete(OperationRequest& request, const UserCall& call, const dtrain_op_options& options,
                  int rank) {
  request.peer = call.peer;
  if (call.kind == OperationKind::barrier) return {};
  request.type = TRY(type_of(call.buffers.type, options));
  request.count = call.buffers.count;
  TRY(count_bytes(request));
  request.reduce = TRY(reduce_of(call.op));
  const size_t bytes =
      options.element_bytes > 0 ? options.element_bytes : element_bytes(request.type);
  request.input = input_of(call, bytes, rank);
  request.output = call.buffers.output;
  return {};
}

/// Puts the operation before the reason why its arguments are wrong.
template <class T>
Result<T> during(OperationKind kind, Result<T> checked) {
  if (!checked) return tl::unexpected(std::move(checked).error().during(kind_name(kind)));
  return checked;
}

int run(dtrain_context* handle, const UserCall& call, const dtrain_op_options* options,
        dtrain_error* error) {
  return report_call(error, [&]() -> Result<> {
    const auto context = TRY(during(call.kind, usable(handle)));
    if (options == nullptr) {  // most calls, which then take less time
      static constexpr dtrain_op_options none = {};
      OperationRequest request = {.kind = call.kind, .group = context->group()};
      TRY(during(call.kind, complete(request, call, none, context->layout().rank)));
      return context->run(std::move(request));
    }
    const dtrain_op_options checked = TRY(read_op_options(options));
    OperationRequest request = request_of(call.kind, *context, checked);
    TRY(during(call.kind, complete(request, call, checked, context->layout().rank)));
    return context->run(std::move(request), name_of(checked));
  });
}

dtrain_work* start(dtrain_context* handle, const UserCall& call, const dtrain_op_options* options,
                   dtrain_error* error) {
  return make_handle(error, [&]() -> Result<std::unique_ptr<dtrain_work>> {
    auto context = TRY(during(call.kind, usable(handle)));
    const dtrain_op_options checked = TRY(read_op_options(options));
    OperationRequest request = request_of(call.kind, *context, checked);
    TRY(during(call.kind, complete(request, call, checked, context->layout().rank)));
    request.name = name_of(checked);
    auto work = std::make_unique<dtrain_work>();
    work->work = TRY(context->start(request));
    work->context = std::move(context);
    return work;
  });
}

}  // namespace

}  // namespace dt

int dtrain_all_reduce(dtrain_context* context, dtrain_buffers buffers, dtrain_op op,
                      const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context, {.kind = dt::OperationKind::all_reduce, .buffers = buffers, .op = op},
                 options, error);
}

int dtrain_broadcast(dtrain_context* context, dtrain_buffers buffers, int root,
                     const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context, {.kind = dt::OperationKind::broadcast, .buffers = buffers, .peer = root},
                 options, error);
}

int dtrain_all_gather(dtrain_context* context, dtrain_buffers buffers,
                      const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context, {.kind = dt::OperationKind::all_gather, .buffers = buffers}, options,
                 error);
}

int dtrain_reduce_scatter(dtrain_context* context, dtrain_buffers buffers, dtrain_op op,
                          const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context, {.kind = dt::OperationKind::reduce_scatter, .buffers = buffers, .op = op},
                 options, error);
}

// NOLINTNEXTLINE(readability-function-size): a C interface has an argument for each thing
int dtrain_reduce(dtrain_context* context, dtrain_buffers buffers, dtrain_op op, int root,
                  const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context,
                 {.kind = dt::OperationKind::reduce, .buffers = buffers, .op = op, .peer = root},
                 options, error);
}

int dtrain_gather(dtrain_context* context, dtrain_buffers buffers, int root,
                  const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context, {.kind = dt::OperationKind::gather, .buffers = buffers, .peer = root},
                 options, error);
}

int dtrain_scatter(dtrain_context* context, dtrain_buffers buffers, int root,
                   const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context, {.kind = dt::OperationKind::scatter, .buffers = buffers, .peer = root},
                 options, error);
}

int dtrain_all_to_all(dtrain_context* context, dtrain_buffers buffers,
                      const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context, {.kind = dt::OperationKind::all_to_all, .buffers = buffers}, options,
                 error);
}

int dtrain_send(dtrain_context* context, dtrain_buffers buffers, int to,
                const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context, {.kind = dt::OperationKind::send, .buffers = buffers, .peer = to},
                 options, error);
}

int dtrain_recv(dtrain_context* context, dtrain_buffers buffers, int from,
                const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context, {.kind = dt::OperationKind::receive, .buffers = buffers, .peer = from},
                 options, error);
}

int dtrain_barrier(dtrain_context* context, const dtrain_op_options* options, dtrain_error* error) {
  return dt::run(context, {.kind = dt::OperationKind::barrier}, options, error);
}

dtrain_work* dtrain_all_reduce_async(dtrain_context* context, dtrain_buffers buffers, dtrain_op op,
                                     const dtrain_op_options* options, dtrain_error* error) {
  return dt::start(context, {.kind = dt::OperationKind::all_reduce, .buffers = buffers, .op = op},
                   options, error);
}

dtrain_work* dtrain_broadcast_async(dtrain_context* context, dtrain_buffers buffers, int root,
                                    const dtrain_op_options* options, dtrain_error* error) {
  return dt::start(context,
                   {.kind = dt::OperationKind::broadcast, .buffers = buffers, .peer = root},
                   options, error);
}

dtrain_work* dtrain_all_gather_async(dtrain_context* context, dtrain_buffers buffers,
                                     const dtrain_op_options* options, dtrain_error* error) {
  return dt::start(context, {.kind = dt::OperationKind::all_gather, .buffers = buffers}, options,
                   error);
}

dtrain_work* dtrain_reduce_scatter_async(dtrain_context* context, dtrain_buffers buffers,
                                         dtrain_op op, const dtrain_op_options* options,
                                         dtrain_error* error) {
  return dt::start(context,
                   {.kind = dt::OperationKind::reduce_scatter, .buffers = buffers, .op = op},
                   options, error);
}

// NOLINTNEXTLINE(readability-function-size): a C interface has an argument for each thing
dtrain_work* dtrain_reduce_async(dtrain_context* context, dtrain_buffers buffers, dtrain_op op,
                                 int root, const dtrain_op_options* options, dtrain_error* error) {
  return dt::start(context,
                   {.kind = dt::OperationKind::reduce, .buffers = buffers, .op = op, .peer = root},
                   options, error);
}

dtrain_work* dtrain_gather_async(dtrain_context* context, dtrain_buffers buffers, int root,
                                 const dtrain_op_options* options, dtrain_error* error) {
  return dt::start(context, {.kind = dt::OperationKind::gather, .buffers = buffers, .peer = root},
                   options, error);
}

dtrain_work* dtrain_scatter_async(dtrain_context* context, dtrain_buffers buffers, int root,
                                  const dtrain_op_options* options, dtrain_error* error) {
  return dt::start(context, {.kind = dt::OperationKind::scatter, .buffers = buffers, .peer = root},
                   options, error);
}

dtrain_work* dtrain_all_to_all_async(dtrain_context* context, dtrain_buffers buffers,
                                     const dtrain_op_options* options, dtrain_error* error) {
  return dt::start(context, {.kind = dt::OperationKind::all_to_all, .buffers = buffers}, options,
                   error);
}

dtrain_work* dtrain_send_async(dtrain_context* context, dtrain_buffers buffers, int to,
                               const dtrain_op_options* options, dtrain_error* error) {
  return dt::start(context, {.kind = dt::OperationKind::send, .buffers = buffers, .peer = to},
                   options, error);
}

dtrain_work* dtrain_recv_async(dtrain_context* context, dtrain_buffers buffers, int from,
                               const dtrain_op_options* options, dtrain_error* error) {
  return dt::start(context, {.kind = dt::OperationKind::receive, .buffers = buffers, .peer = from},
                   options, error);
}

dtrain_work* dtrain_barrier_async(dtrain_context* context, const dtrain_op_options* options,
                                  dtrain_error* error) {
  return dt::start(context, {.kind = dt::OperationKind::barrier}, options, error);
}

int dtrain_work_wait(dtrain_work* work, int timeout_ms, dtrain_error* error) {
  bool pending = false;
  const int status = dt::report_call(error, [&]() -> dt::Result<> {
    const auto context = TRY(dt::usable(work));
    const dt::Time deadline =
        timeout_ms < 0 ? dt::Time::max() : dt::Clock::now() + dt::milliseconds(timeout_ms);
    auto ended = context->driver().wait(work->work, deadline);
    pending = !ended;
    return std::move(ended).value_or(dt::Result<>());
  });
  return pending ? DTRAIN_PENDING : status;
}

int dtrain_work_done(dtrain_work* work) {
  if (work == nullptr || work->context->forked()) return 1;
  const auto done =
      dt::guarded([&] { return dt::Result<bool>(work->context->driver().done(work->work)); });
  return !done || *done ? 1 : 0;
}

void dtrain_work_free(dtrain_work* work) {
  // The copy in a fork ends with its process.
  if (work == nullptr || work->context->forked()) return;
  const std::unique_ptr<dtrain_work> owned(work);
  // Its buffers are in use until it is done. A wait may fail earlier, when memory runs out.
  while (dtrain_work_done(work) == 0)
    dtrain_work_wait(work, -1, nullptr);
}
