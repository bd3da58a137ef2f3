#include "base/format.h"
#include "comm/api/api_support.h"
#include "comm/api/sparse_rows.h"
#include "comm/device/device_calls.h"
#include "comm/driver/driver.h"
#include "comm/include/dtrain/dtrain_work.h"

#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace dt {

namespace {

/// A call of dtrain_all_reduce_sparse. Both collectives have its options.
struct SparseCall {
  std::shared_ptr<Context> context;
  dtrain_op_options options = {};
  SparseRows own;
};

Result<SparseShape> shape_of_call(const dtrain_sparse_rows& rows, dtrain_op op,
                                  const dtrain_op_options& options) {
  const ElementType type = TRY(type_of(rows.type, options));
  const ReduceOp reduce = TRY(reduce_of(op));
  const SparseShape shape{.type = type, .reduce = reduce, .rows = rows.rows, .width = rows.width};
  if (rows.type == DTRAIN_OPAQUE)
    return fail(Errc::input, "opaque elements are not reduced; give rows of another type");
  if (rows.width < 1) return fail(Errc::input, "dtrain_sparse_rows.width is 0; give at least 1");
  constexpr size_t bytes_max = std::numeric_limits<std::ptrdiff_t>::max();
  const size_t elements_max = bytes_max / element_bytes(shape.type) / rows.width;
  if (rows.rows > elements_max || rows.count > elements_max)
    return fail(Errc::input, format("{} rows of {} elements are too large", rows.rows, rows.width));
  const bool sums = shape.reduce == ReduceOp::sum || shape.reduce == ReduceOp::average;
  if (options.prescale != 0 && options.prescale != 1 && !sums) {
    return fail(Errc::input,
                "a sparse reduction has a prescale only if it is a sum or an average; scale the "
                "values");
  }
  if (options.shape != nullptr)
    return fail(Errc::input, "dtrain_op_options.shape must be NULL: the rows have their shape");
  return shape;
}

Result<SparseCall> sparse_call(dtrain_context* handle, const dtrain_sparse_rows* given,
                               dtrain_op op, const dtrain_op_options* given_options) {
  SparseCall call;
  call.context = TRY(usable(handle));
  call.options = TRY(read_op_options(given_options));
  if (given == nullptr) return fail(Errc::input, "the dtrain_sparse_rows are NULL");
  const dtrain_sparse_rows rows = TRY(read_struct(given, "dtrain_sparse_rows"));
  const SparseShape shape = TRY(shape_of_call(rows, op, call.options));
  if (rows.count > 0 && (rows.indices == nullptr || rows.values == nullptr))
    return fail(Errc::input, "indices or values of dtrain_sparse_rows are NULL");
  TRY(check_on_host(rows.indices, "the indices of dtrain_sparse_rows lie"));
  TRY(check_on_host(rows.values, "the values of dtrain_sparse_rows lie"));
  if (call.options.stream != nullptr)
    return fail(Errc::input, "dtrain_op_options.stream must be NULL: rows lie on the host");
  call.own = TRY(
      merged_rows(shape, {rows.indices, rows.count}, static_cast<const std::byte*>(rows.values)));
  return call;
}

/// One of the two collectives, whose name has this part.
OperationRequest part_of(const SparseCall& call, const char* part) {
  OperationRequest request = {.group = call.context->group()};
  const std::string_view name = name_of(call.options);
  if (!name.empty()) request.name = format("{}[{}]", name, part);
  request.timeout = milliseconds(call.options.timeout_ms);
  request.priority = call.options.priority;
  return request;
}

/// Exchanges the indices of the rows, then reduces their elements.
Result<std::unique_ptr<dtrain_work>> reduced(SparseCall call) {
  Driver& driver = call.context->driver();
  const std::vector<int64_t> message = row_message(call.own);
  OperationRequest exchange = part_of(call, "rows");
  exchange.kind = OperationKind::all_gather_v;
  exchange.type = ElementType::int64;
  exchange.input = message.data();
  exchange.count = message.size();
  const auto exchanged = std::make_shared<OperationResult>();
  exchange.result = exchanged;
  TRY(driver.run(std::move(exchange)));
  const std::vector<size_t>& counts = exchanged->counts;
  const size_t gathered = std::accumulate(counts.begin(), counts.end(), size_t{0});
  const auto* messages = reinterpret_cast<const int64_t*>(exchanged->data.get());
  const auto united = TRY(united_rows({messages, gathered}, counts));
  const SparseShape shape = call.own.shape;
  auto result = std::make_shared<SparseRows>(spread_rows(std::move(call.own), united));
  OperationRequest reduce = part_of(call, "values");
  reduce.kind = OperationKind::all_reduce;
  reduce.type = shape.type;
  reduce.reduce = shape.reduce;
  reduce.input = reduce.output = result->values.get();
  reduce.count = result->indices.size() * shape.width;
  reduce.terms = terms_of(call.options);
  auto work = std::make_unique<dtrain_work>();
  work->sparse = std::move(result);
  work->result_type = static_cast<dtrain_type>(type_number(shape.type));
  work->work = driver.start(reduce);
  TRY(*driver.wait(work->work, Time::max()));
  work->context = std::move(call.context);
  return work;
}

Result<dtrain_sparse_result> sparse_of(dtrain_work* work) {
  TRY(usable(work));
  if (!work->sparse) return fail(Errc::input, "the operation of this work has no sparse result");
  const SparseRows& rows = *work->sparse;
  return dtrain_sparse_result{.struct_size = sizeof(dtrain_sparse_result),
                              .indices = rows.indices.data(),
                              .values = rows.values.get(),
                              .count = rows.indices.size(),
                              .width = rows.shape.width,
                              .type = work->result_type,
                              .dense = rows.dense ? 1 : 0};
}

}  // namespace

}  // namespace dt

// NOLINTNEXTLINE(readability-function-size): a C interface has an argument for each thing
int dtrain_all_reduce_sparse(dtrain_context* context, const dtrain_sparse_rows* rows, dtrain_op op,
                             dtrain_work** work, const dtrain_op_options* options,
                             dtrain_error* error) {
  if (work != nullptr) *work = nullptr;
  return dt::report_call(error, [&]() -> dt::Result<> {
    if (work == nullptr)
      return dt::fail(dt::Errc::input, "the pointer to the work, which gets the result, is NULL");
    dt::SparseCall call = TRY(dt::sparse_call(context, rows, op, options));
    auto made = TRY(dt::reduced(std::move(call)));
    *work = made.release();
    return {};
  });
}

int dtrain_work_sparse(dtrain_work* work, dtrain_sparse_result* result, dtrain_error* error) {
  return dt::fill_struct(result, "dtrain_sparse_result", error,
                         [&] { return dt::sparse_of(work); });
}
