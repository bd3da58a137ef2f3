#include "comm/training/strategy/api_strategy.h"

#include "base/format.h"

#include <unistd.h>

#include <cstddef>
#include <utility>

namespace dt {
namespace {

std::optional<std::string> optional_text(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

Result<VariableTerms> variable_terms(const dtrain_variable_options& options) {
  VariableTerms terms = {
      .name = options.name == nullptr ? "" : options.name, .type = {}, .count = options.count};
  if (options.type == DTRAIN_OPAQUE) return fail(Errc::input, "variables have no opaque elements");
  terms.type = TRY(type_of(options.type, {}));
  if (options.synchronization != DTRAIN_ON_WRITE && options.synchronization != DTRAIN_ON_READ) {
    return fail(Errc::input,
                format("dtrain_variable_options.synchronization is {}, no dtrain_synchronization",
                       options.synchronization));
  }
  if (options.aggregation < DTRAIN_AGGREGATE_SUM ||
      options.aggregation > DTRAIN_AGGREGATE_FIRST_REPLICA) {
    return fail(Errc::input,
                format("dtrain_variable_options.aggregation is {}, no dtrain_aggregation",
                       options.aggregation));
  }
  terms.on_read = options.synchronization == DTRAIN_ON_READ;
  terms.aggregation = static_cast<Aggregation>(options.aggregation);
  terms.slot = options.slot != 0;
  terms.device = options.device == nullptr ? "" : options.device;
  if (options.count > SIZE_MAX / sizeof(double))
    return fail(Errc::input, format("a variable cannot have {} elements", options.count));
  return terms;
}

Result<dtrain_variable*> create_variable(dtrain_strategy* strategy,
                                         const dtrain_variable_options* given) {
  TRY(check_handle(strategy));
  const auto options = TRY(read_struct(given, "dtrain_variable_options"));
  const VariableTerms terms = TRY(variable_terms(options));
  Variable* const variable =
      TRY(strategy->strategy->add_variable(terms, static_cast<const std::byte*>(options.initial)));
  auto handle = std::make_unique<dtrain_variable>(dtrain_variable{strategy, variable});
  strategy->variables.push_back(std::move(handle));
  return strategy->variables.back().get();
}

Result<std::unique_ptr<dtrain_strategy>> create_strategy(dtrain_context* context,
                                                         const StrategyRequest& request) {
  const Environment environment = process_environment();
  if (context != nullptr) TRY(usable(context));
  auto made = TRY(context != nullptr ? Strategy::create(context, request, environment)
                                     : Strategy::join(request, environment));
  return new_handle(std::move(made));
}

}  // namespace

std::unique_ptr<dtrain_strategy> new_handle(std::unique_ptr<Strategy> strategy) {
  auto handle = std::make_unique<dtrain_strategy>();
  handle->strategy = std::move(strategy);
  for (size_t i = 0; i < handle->strategy->local_replicas(); ++i)
    handle->device_names.push_back(handle->strategy->devices().device(i).name());
  return handle;
}

Result<> check_handle(const dtrain_strategy* strategy) {
  if (strategy != nullptr) return {};
  return fail(Errc::input, "the dtrain_strategy is NULL");
}

}  // namespace dt

dtrain_strategy* dtrain_strategy_create(dtrain_context* context,
                                        const dtrain_strategy_options* options,
                                        dtrain_error* error) {
  return dt::make_handle(error, [&]() -> dt::Result<std::unique_ptr<dtrain_strategy>> {
    const auto given = TRY(dt::read_struct(options, "dtrain_strategy_options"));
    const dt::StrategyRequest request = {.name = dt::optional_text(given.name),
                                         .devices = dt::optional_text(given.devices),
                                         .cross_device = dt::optional_text(given.cross_device_op),
                                         .bytes_per_pack = given.bytes_per_pack,
                                         .timeout_ms = given.timeout_ms,
                                         .asynchronous = given.asynchronous != 0,
                                         .ps_mode = dt::optional_text(given.ps_mode),
                                         .communication = dt::optional_text(given.communication),
                                         .soft_placement = given.soft_placement != 0,
                                         .log_placement = given.log_placement != 0,
                                         .device_memory = given.device_memory};
    return dt::create_strategy(context, request);
  });
}

void dtrain_strategy_free(dtrain_strategy* strategy) {
  const std::unique_ptr<dtrain_strategy> owned(strategy);
}

const char* dtrain_strategy_name(const dtrain_strategy* strategy) {
  if (strategy == nullptr) return nullptr;
  switch (strategy->strategy->name()) {
    case dt::StrategyName::mirrored:
      return "mirrored";
    case dt::StrategyName::multi_worker_mirrored:
      return "multi_worker_mirrored";
    case dt::StrategyName::central_storage:
      return "central_storage";
    case dt::StrategyName::parameter_server:
      return "parameter_server";
    case dt::StrategyName::one_device:
      return "one_device";
  }
  return nullptr;
}

int dtrain_strategy_replicas(const dtrain_strategy* strategy) {
  return strategy == nullptr ? -1 : static_cast<int>(strategy->strategy->replicas());
}

int dtrain_strategy_local_replicas(const dtrain_strategy* strategy) {
  return strategy == nullptr ? -1 : static_cast<int>(strategy->strategy->local_replicas());
}

int dtrain_strategy_first_replica(const dtrain_strategy* strategy) {
  return strategy == nullptr ? -1 : static_cast<int>(strategy->strategy->first_replica());
}

int dtrain_strategy_worker(const dtrain_strategy* strategy) {
  return strategy == nullptr ? -1 : static_cast<int>(strategy->strategy->worker());
}

int dtrain_strategy_workers(const dtrain_strategy* strategy) {
  return strategy == nullptr ? -1 : static_cast<int>(strategy->strategy->worker_count());
}

int dtrain_strategy_is_chief(const dtrain_strategy* strategy) {
  return strategy != nullptr && strategy->strategy->is_chief() ? 1 : 0;
}

const char* dtrain_strategy_device(const dtrain_strategy* strategy, int local_replica) {
  if (strategy == nullptr || local_replica < 0) return nullptr;
  const auto i = static_cast<size_t>(local_replica);
  return i < strategy->device_names.size() ? strategy->device_names[i].c_str() : nullptr;
}

size_t dtrain_strategy_placement(const dtrain_strategy* strategy, char* text, size_t size) {
  const std::string all =
      strategy == nullptr ? std::string() : strategy->strategy->placement().text();
  if (size > 0) text[all.copy(text, size - 1)] = '\0';
  return all.size();
}

dtrain_context* dtrain_strategy_context(const dtrain_strategy* strategy) {
  return strategy == nullptr ? nullptr : strategy->strategy->workers().group();
}

int dtrain_variable_create(dtrain_strategy* strategy, const dtrain_variable_options* options,
                           dtrain_variable** variable, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    if (variable == nullptr) return dt::fail(dt::Errc::input, "the place of the variable is NULL");
    *variable = nullptr;
    *variable = TRY(dt::create_variable(strategy, options));
    return {};
  });
}

int dtrain_variable_read(dtrain_variable* variable, void* to, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    if (variable == nullptr || to == nullptr)
      return dt::fail(dt::Errc::input, "an argument is NULL");
    return variable->strategy->strategy->read(*variable->variable, static_cast<std::byte*>(to));
  });
}

int dtrain_variable_write(dtrain_variable* variable, const void* from, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    if (variable == nullptr || from == nullptr)
      return dt::fail(dt::Errc::input, "an argument is NULL");
    return variable->strategy->strategy->write(*variable->variable,
                                               static_cast<const std::byte*>(from));
  });
}

int dtrain_strategy_reduce(dtrain_strategy* strategy, const void* const* inputs,
                           dtrain_buffers output, dtrain_op op, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    TRY(dt::check_handle(strategy));
    const dt::ElementType type = TRY(dt::type_of(output.type, {}));
    const dt::ReduceOp reduce = TRY(dt::reduce_of(op));
    if (inputs == nullptr) return dt::fail(dt::Errc::input, "the list of inputs is NULL");
    std::vector<const std::byte*> arrays;
    for (size_t i = 0; i < strategy->strategy->local_replicas(); ++i)
      arrays.push_back(static_cast<const std::byte*>(inputs[i]));
    return strategy->strategy->reduce(
        arrays, {type, output.count, static_cast<std::byte*>(output.output)}, reduce);
  });
}

int dtrain_strategy_save(dtrain_strategy* strategy, const char* path, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    TRY(dt::check_handle(strategy));
    if (path == nullptr) return dt::fail(dt::Errc::input, "the path of the checkpoint is NULL");
    return dt::save_variables(*strategy->strategy, path);
  });
}

int dtrain_strategy_restore(dtrain_strategy* strategy, const char* path, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    TRY(dt::check_handle(strategy));
    if (path == nullptr) return dt::fail(dt::Errc::input, "the path of the checkpoint is NULL");
    return dt::restore_variables(*strategy->strategy, path);
  });
}
