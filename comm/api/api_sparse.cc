#include "base/format.h"
#include "comm/api/api_support.h"
#include "comm/api/sparse_rows.h"
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

Result<SparseShape> shape_of_call(const dtrain_sparse_rows& rows, int op,
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

Result<SparseCall> sparse_call(dtrain_context* handle, const dtrain_sparse_rows* given, int op,
                               const dtrain_op_options* given_options) {
  SparseCall call;
  call.context = TRY(usable(handle == nullptr ? nullptr : &handle->context));
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

/// A failure, and the rank to blame.
struct SparseFailure {
  Error error;
  int blamed_rank = -1;
};

/// The arguments of one of the two collectives, whose name has this part.
CallArguments part_of(const SparseCall& call, const std::string& name) {
  return {.group = call.context->group(),
          .name = name,
          .timeout = milliseconds(call.options.timeout_ms),
          .priority = call.options.priority};
}

std::string name_of_part(const SparseCall& call, const char* part) {
  if (call.options.name == nullptr || *call.options.name == '\0') return "";
  return format("{}[{}]", call.options.name, part);
}

using Reduced = tl::expected<std::unique_ptr<dtrain_work>, SparseFailure>;

/// Exchanges the indices of the rows, then reduces their elements.
Reduced reduced(SparseCall call) {
  Driver& driver = call.context->driver();
  const std::vector<int64_t> message = row_message(call.own);
  const std::string rows_name = name_of_part(call, "rows");
  CallArguments exchange = part_of(call, rows_name);
  exchange.kind = OperationKind::all_gather_v;
  exchange.type = ElementType::int64;
  exchange.input = message.data();
  exchange.count = message.size();
  exchange.result = std::make_shared<OperationResult>();
  const Driver::Outcome exchanged = driver.run(exchange);
  if (!exchanged.result)
    return tl::unexpected(SparseFailure{exchanged.result.error(), exchanged.blamed_rank});
  const std::vector<size_t>& counts = exchange.result->counts;
  const size_t gathered = std::accumulate(counts.begin(), counts.end(), size_t{0});
  const auto* messages = reinterpret_cast<const int64_t*>(exchange.result->data.get());
  const auto united = united_rows({messages, gathered}, counts);
  if (!united) return tl::unexpected(SparseFailure{united.error()});
  const SparseShape shape = call.own.shape;
  auto result = std::make_shared<SparseRows>(spread_rows(std::move(call.own), *united));
  const std::string values_name = name_of_part(call, "values");
  CallArguments reduce = part_of(call, values_name);
  reduce.kind = OperationKind::all_reduce;
  reduce.type = shape.type;
  reduce.reduce = shape.reduce;
  reduce.input = reduce.output = result->values.get();
  reduce.count = result->indices.size() * shape.width;
  reduce.terms = terms_of(call.options);
  auto work = std::make_unique<dtrain_work>();
  work->sparse = std::move(result);
  work->result_type = type_number(shape.type);
  work->work = driver.start(reduce);
  const Driver::Outcome outcome = *driver.wait(work->work, Time::max());
  work->context = std::move(call.context);
  if (!outcome.result)
    return tl::unexpected(SparseFailure{outcome.result.error(), outcome.blamed_rank});
  return work;
}

Result<dtrain_sparse_result> sparse_of(dtrain_work* work) {
  TRY(usable(work == nullptr ? nullptr : &work->context));
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
int dtrain_all_reduce_sparse(dtrain_context* context, const dtrain_sparse_rows* rows, int op,
                             dtrain_work** work, const dtrain_op_options* options,
                             dtrain_error* error) {
  if (work != nullptr) *work = nullptr;
  const auto body = [&]() -> dt::Result<dt::Reduced> {
    if (work == nullptr)
      return dt::fail(dt::Errc::input, "the pointer to the work, which gets the result, is NULL");
    dt::SparseCall call = TRY(dt::sparse_call(context, rows, op, options));
    return dt::reduced(std::move(call));
  };
  dt::Result<dt::Reduced> made = dt::guarded(body);
  if (!made) return dt::report(error, made.error());
  if (!*made) return dt::report(error, made->error().error, made->error().blamed_rank);
  *work = made->value().release();
  return dt::report_success(error);
}

int dtrain_work_sparse(dtrain_work* work, dtrain_sparse_result* result, dtrain_error* error) {
  const auto body = [&]() -> dt::Result<dtrain_sparse_result> {
    if (result == nullptr) return dt::fail(dt::Errc::input, "the dtrain_sparse_result is NULL");
    TRY(dt::check_result_size("dtrain_sparse_result", result->struct_size));
    return dt::sparse_of(work);
  };
  const dt::Result<dtrain_sparse_result> found = dt::guarded(body);
  if (!found) return dt::report(error, found.error());
  dt::fill_result(result, *found);
  return dt::report_success(error);
}
