#include "base/format.h"
#include "comm/training/strategy/api_strategy.h"

#include <cstddef>

namespace dt {
namespace {

Result<> check_replica(const dtrain_replica* replica) {
  if (replica != nullptr) return {};
  return fail(Errc::input, "the dtrain_replica is NULL");
}

/// Returns the outcome of a step or an update, which is a function of the program.
Result<> outcome_of(int status, Replica& replica) {
  if (status == 0) return {};
  std::string text = std::exchange(replica.failure, {});
  return fail(Errc::input, text.empty() ? format("it returned {}", status) : std::move(text));
}

Result<> check_variable(const dtrain_replica& replica, const dtrain_variable* variable) {
  if (variable != nullptr && variable->strategy == &replica.strategy) return {};
  return fail(Errc::input, "the variable is NULL or of another strategy");
}

Result<ReplicaTensors> replica_tensors(const dtrain_buffers* tensors, size_t count) {
  if (tensors == nullptr && count > 0) return fail(Errc::input, "the list of tensors is NULL");
  ReplicaTensors all;
  for (size_t i = 0; i < count; ++i) {
    if (tensors[i].input != nullptr && tensors[i].input != tensors[i].output)
      return fail(Errc::input, "the input of a tensor must be NULL: its output is reduced");
    const ElementType type = TRY(type_of(tensors[i].type, {}));
    all.push_back({type, tensors[i].count, static_cast<std::byte*>(tensors[i].output)});
  }
  return all;
}

}  // namespace
}  // namespace dt

int dtrain_strategy_run(dtrain_strategy* strategy, dtrain_replica_step step, void* argument,
                        dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    TRY(dt::check_handle(strategy));
    if (step == nullptr) return dt::fail(dt::Errc::input, "the step is NULL");
    return strategy->strategy->run([&](dt::Replica& replica) {
      dtrain_replica handle = {*strategy, replica};
      return dt::outcome_of(step(&handle, argument), replica);
    });
  });
}

int dtrain_replica_index(const dtrain_replica* replica) {
  if (replica == nullptr) return -1;
  return static_cast<int>(replica->strategy.strategy->first_replica() + replica->replica.local);
}

int dtrain_replica_local_index(const dtrain_replica* replica) {
  return replica == nullptr ? -1 : static_cast<int>(replica->replica.local);
}

void dtrain_replica_fail(dtrain_replica* replica, const char* text) {
  if (replica != nullptr && text != nullptr) replica->replica.failure = text;
}

void* dtrain_replica_data(dtrain_replica* replica, dtrain_variable* variable) {
  if (replica == nullptr || !dt::check_variable(*replica, variable)) return nullptr;
  return variable->variable->at(replica->replica.local);
}

int dtrain_replica_all_reduce(dtrain_replica* replica, const dtrain_buffers* tensors, size_t count,
                              dtrain_op op, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    TRY(dt::check_replica(replica));
    const dt::ReduceOp reduce = TRY(dt::reduce_of(op));
    dt::ReplicaTensors all = TRY(dt::replica_tensors(tensors, count));
    return replica->strategy.strategy->all_reduce(replica->replica, std::move(all), reduce);
  });
}

int dtrain_replica_apply(dtrain_replica* replica, const dtrain_gradient_list* list,
                         dtrain_update update, void* argument, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    TRY(dt::check_replica(replica));
    if (list == nullptr || update == nullptr || (list->gradients == nullptr && list->count > 0))
      return dt::fail(dt::Errc::input, "an argument is NULL");
    const dt::ReduceOp reduce = TRY(dt::reduce_of(list->op));
    std::vector<dt::Gradient> gradients;
    for (size_t i = 0; i < list->count; ++i) {
      const dtrain_gradient& gradient = list->gradients[i];
      TRY(dt::check_variable(*replica, gradient.variable));
      gradients.push_back(
          {gradient.variable->variable, static_cast<std::byte*>(gradient.gradient)});
    }
    return replica->strategy.strategy->apply(replica->replica, gradients, reduce, [&](size_t i) {
      return dt::outcome_of(update(replica, i, argument), replica->replica);
    });
  });
}

int dtrain_replica_assign(dtrain_replica* replica, dtrain_variable* variable, const void* value,
                          dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    TRY(dt::check_replica(replica));
    TRY(dt::check_variable(*replica, variable));
    if (value == nullptr) return dt::fail(dt::Errc::input, "the value is NULL");
    return replica->strategy.strategy->assign(replica->replica, *variable->variable,
                                              static_cast<const std::byte*>(value));
  });
}
