#include "base/format.h"
#include "comm/api/api_support.h"
#include "comm/driver/driver.h"
#include "comm/engine/groups.h"
#include "comm/include/dtrain/dtrain_work.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace dt {

namespace {

Result<std::vector<TensorOfList>> tensors_of(const dtrain_tensor_list* given,
                                             const dtrain_op_options& options) {
  if (given == nullptr) return fail(Errc::input, "the dtrain_tensor_list is NULL");
  const dtrain_tensor_list list = TRY(read_struct(given, "dtrain_tensor_list"));
  if (list.tensors == nullptr && list.count > 0)
    return fail(Errc::input, "dtrain_tensor_list.tensors is NULL");
  if (list.shapes != nullptr && list.dims == nullptr)
    return fail(Errc::input, "dtrain_tensor_list.dims is NULL, but shapes is not");
  std::vector<TensorOfList> tensors;
  tensors.reserve(list.count);
  for (size_t i = 0; i < list.count; ++i) {
    const dtrain_buffers& buffers = list.tensors[i];
    const void* input = buffers.input == nullptr ? buffers.output : buffers.input;
    const ElementType type = TRY(type_of(buffers.type, options));
    TensorOfList& tensor = tensors.emplace_back();
    tensor = {type, buffers.count, input, buffers.output};
    if (list.names != nullptr) {
      if (list.names[i] == nullptr || *list.names[i] == '\0')
        return fail(Errc::input,
                    format("dtrain_tensor_list.names has no name of tensor {}", i + 1));
      tensor.name = list.names[i];
    }
    if (list.shapes == nullptr) continue;
    if (list.dims[i] < 0 || (list.dims[i] > 0 && list.shapes[i] == nullptr))
      return fail(Errc::input, format("the shape of tensor {} is not complete", i + 1));
    tensor.has_shape = true;
    tensor.shape.assign(list.shapes[i], list.shapes[i] + list.dims[i]);
  }
  // An empty list matches empty ones only.
  if (tensors.empty()) tensors.emplace_back();
  return tensors;
}

Result<OperationRequest> list_call(const Context& context, const dtrain_tensor_list* list,
                                   dtrain_op op, const dtrain_op_options* given) {
  const dtrain_op_options options = TRY(read_op_options(given));
  if (options.shape != nullptr) {
    return fail(Errc::input,
                "dtrain_op_options.shape must be NULL: dtrain_tensor_list.shapes has the shapes");
  }
  OperationRequest call = request_of(OperationKind::all_reduce, context, options);
  call.name = name_of(options);
  call.reduce = TRY(reduce_of(op));
  call.tensors = TRY(tensors_of(list, options));
  return call;
}

Result<Quorum> quorum_of(const Context& context, const dtrain_quorum* given, dtrain_op op) {
  if (given == nullptr) return fail(Errc::input, "the dtrain_quorum is NULL");
  const dtrain_quorum quorum = TRY(read_struct(given, "dtrain_quorum"));
  const int size = context.layout().size;
  if (quorum.ranks < 1 || quorum.ranks > size) {
    return fail(Errc::input,
                format("dtrain_quorum.ranks is {}; give 1 to {}, the size of the context",
                       quorum.ranks, size));
  }
  if (quorum.deadline_ms < 0 || quorum.behind_max < 0)
    return fail(Errc::input, "deadline_ms or behind_max of dtrain_quorum is negative");
  if (quorum.late != DTRAIN_DROP_LATE && quorum.late != DTRAIN_CARRY_LATE)
    return fail(Errc::input, format("dtrain_quorum.late is {}, which is unknown", quorum.late));
  const bool carries = quorum.late == DTRAIN_CARRY_LATE;
  if (carries && op == DTRAIN_ADASUM)
    return fail(Errc::input, "an adasum cannot carry late contributions; use DTRAIN_DROP_LATE");
  return Quorum{.ranks = static_cast<uint32_t>(quorum.ranks),
                .deadline_ms = static_cast<uint32_t>(quorum.deadline_ms),
                .behind_max = quorum.behind_max == 0 ? 1 : static_cast<uint32_t>(quorum.behind_max),
                .carries_late = carries};
}

/// Starts a call with a quorum.
Result<std::unique_ptr<dtrain_work>> started_quorum(dtrain_context* handle,
                                                    const dtrain_tensor_list* list, dtrain_op op,
                                                    const dtrain_quorum* quorum,
                                                    const dtrain_op_options* options) {
  auto context = TRY(usable(handle));
  const Quorum checked = TRY(quorum_of(*context, quorum, op));
  OperationRequest call = TRY(list_call(*context, list, op, options));
  if (!call.tensors.front().name.empty())
    return fail(Errc::input, "a quorum is of a whole list; leave out dtrain_tensor_list.names");
  if (call.name.empty())
    return fail(Errc::input, "the steps of a quorum need a name; set dtrain_op_options.name");
  if (!call.terms) call.terms.emplace();
  call.terms->quorum = checked;
  call.result = std::make_shared<OperationResult>();
  auto work = std::make_unique<dtrain_work>();
  work->result = call.result;
  work->result_type = DTRAIN_INT32;
  work->work = TRY(context->start(call));
  work->context = std::move(context);
  return work;
}

}  // namespace

}  // namespace dt

int dtrain_all_reduce_list(dtrain_context* context, const dtrain_tensor_list* list, dtrain_op op,
                           const dtrain_op_options* options, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    const auto joined = TRY(dt::usable(context));
    dt::OperationRequest call = TRY(dt::list_call(*joined, list, op, options));
    return joined->run(std::move(call));
  });
}

dtrain_work* dtrain_all_reduce_list_async(dtrain_context* context, const dtrain_tensor_list* list,
                                          dtrain_op op, const dtrain_op_options* options,
                                          dtrain_error* error) {
  return dt::make_handle(error, [&]() -> dt::Result<std::unique_ptr<dtrain_work>> {
    auto joined = TRY(dt::usable(context));
    const dt::OperationRequest call = TRY(dt::list_call(*joined, list, op, options));
    auto work = std::make_unique<dtrain_work>();
    work->work = TRY(joined->start(call));
    work->context = std::move(joined);
    return work;
  });
}

// NOLINTNEXTLINE(readability-function-size): a C interface has an argument for each thing
int dtrain_all_reduce_quorum(dtrain_context* context, const dtrain_tensor_list* list, dtrain_op op,
                             const dtrain_quorum* quorum, dtrain_work** work,
                             const dtrain_op_options* options, dtrain_error* error) {
  if (work != nullptr) *work = nullptr;
  return dt::report_call(error, [&]() -> dt::Result<> {
    if (work == nullptr)
      return dt::fail(dt::Errc::input, "the pointer to the work, which gets the result, is NULL");
    auto started = TRY(dt::started_quorum(context, list, op, quorum, options));
    TRY(*started->context->driver().wait(started->work, dt::Time::max()));
    *work = started.release();
    return {};
  });
}

// NOLINTNEXTLINE(readability-function-size): a C interface has an argument for each thing
dtrain_work* dtrain_all_reduce_quorum_async(dtrain_context* context, const dtrain_tensor_list* list,
                                            dtrain_op op, const dtrain_quorum* quorum,
                                            const dtrain_op_options* options, dtrain_error* error) {
  return dt::make_handle(error,
                         [&] { return dt::started_quorum(context, list, op, quorum, options); });
}

int dtrain_count_quorum(dtrain_context* context, dtrain_quorum_counts* counts,
                        dtrain_error* error) {
  const auto body = [&]() -> dt::Result<dtrain_quorum_counts> {
    const auto joined = TRY(dt::usable(context));
    using Counts = dt::LateSteps::Counts;
    const auto known = joined->driver().with_engine([&](dt::Engine& engine) -> dt::Result<Counts> {
      const dt::RankGroup* group = engine.groups().find(joined->group());
      return group == nullptr ? Counts() : group->quorum_counts();
    });
    const Counts found = known.value_or(Counts());
    return dtrain_quorum_counts{.struct_size = sizeof(dtrain_quorum_counts),
                                .steps = found.steps,
                                .late = found.late,
                                .carried = found.carried};
  };
  return dt::fill_struct(counts, "dtrain_quorum_counts", error, body);
}
