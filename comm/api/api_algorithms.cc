#include "base/format.h"
#include "choices/algorithm_text.h"
#include "comm/api/api_support.h"
#include "comm/driver/driver.h"
#include "comm/include/dtrain/dtrain_algorithm.h"

#include <optional>
#include <string>
#include <utility>

// NOLINTNEXTLINE(readability-identifier-naming): the names of C's opaque types
struct dtrain_steps {
  dt::Steps all;
  std::optional<std::string> fault = {};  ///< of the first wrong step
};

namespace dt {

namespace {

Result<Range> range_of(const dtrain_range& given) {
  if (given.place < DTRAIN_PLACE_OUTPUT || given.place > DTRAIN_PLACE_WORK)
    return fail(Errc::input, format("place {} is no dtrain_place", given.place));
  return Range{given.begin, given.end, static_cast<Place>(given.place)};
}

Result<Step> step_of(const dtrain_step& given) {
  if (given.fold < DTRAIN_FOLD_REPLACE || given.fold > DTRAIN_FOLD_RECEIVED_FIRST)
    return fail(Errc::input, format("fold {} is no dtrain_fold", given.fold));
  const Range send = TRY(range_of(given.send));
  const Range receive = TRY(range_of(given.receive));
  const Range operand = TRY(range_of(given.operand));
  return Step{.send_to = given.send_to,
              .send = given.send_to < 0 ? Range{} : send,
              .receive_from = given.receive_from,
              .receive = given.receive_from < 0 ? Range{} : receive,
              .fold = static_cast<Fold>(given.fold),
              .operand = operand};
}

/// Calls the program's function.
Result<Steps> steps_by(dtrain_algorithm algorithm, void* user, Group group,
                       const CollectiveShape& shape) {
  const dtrain_algorithm_call call = {.struct_size = sizeof call,
                                      .operation = kind_name(shape.kind).data(),
                                      .count = shape.count,
                                      .element_bytes = shape.element_bytes,
                                      .rank = group.rank,
                                      .size = group.size,
                                      .root = shape.root,
                                      .in_place = shape.in_place ? 1 : 0};
  dtrain_steps steps;
  const int status = algorithm(&call, &steps, user);
  if (steps.fault) return fail(Errc::input, *steps.fault);
  if (status != 0) return fail(Errc::input, format("it returned {}", status));
  return std::move(steps.all);
}

Result<> register_algorithm(dtrain_context* handle, const char* name, const StepMaker& maker) {
  const auto context = TRY(usable(handle));
  if (name == nullptr || !is_registrable(name))
    return fail(Errc::input, std::string(registrable_names));
  const std::string label = format("algorithm {}", name);
  TRY(context->driver().run({.kind = OperationKind::barrier,
                             .group = context->group(),
                             .name = label,
                             .in_sequence = true}));
  return context->driver().with_engine(
      [&](Engine& engine) { return engine.register_algorithm(name, maker); });
}

}  // namespace

}  // namespace dt

int dtrain_steps_add(dtrain_steps* steps, dtrain_step step) {
  const auto added = dt::guarded([&]() -> dt::Result<int> {
    const dt::Result<dt::Step> checked = dt::step_of(step);
    if (!checked && !steps->fault)
      steps->fault = dt::format("step {}: {}", steps->all.size() + 1, checked.error().message);
    if (checked) steps->all.push_back(*checked);
    return DTRAIN_OK;
  });
  return added.value_or(DTRAIN_ERROR_SYSTEM);
}

int dtrain_register_algorithm(dtrain_context* context, const char* name, dtrain_algorithm algorithm,
                              void* user, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    if (algorithm == nullptr) return dt::fail(dt::Errc::input, "the algorithm is NULL");
    const auto maker = [algorithm, user](dt::Group group, const dt::CollectiveShape& shape) {
      return dt::steps_by(algorithm, user, group, shape);
    };
    return dt::register_algorithm(context, name, maker);
  });
}
