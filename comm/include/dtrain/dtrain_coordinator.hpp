#pragma once

// A coordinator of closures for C++20: dtrain_coordinator.h with spans, RAII and exceptions.
//
//   The chief:    dtrain::Coordinator coordinator;
//                 const auto closure = coordinator.schedule("step", "3");
//                 const std::string result = coordinator.fetch(closure);
//   Each worker:  dtrain::serve_closures({{"step", [](std::string_view argument) { … }}});

#include "dtrain_coordinator.h"
#include "dtrain_types.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

/// As dtrain_coordinator_options: a setting that is 0 or empty has its default.
struct CoordinatorOptions {
  const dtrain_init_options* identity = nullptr;
  dtrain_ps* ps = nullptr;  ///< of this process's ParameterServers, if it has them
  std::string role = "worker";
  int workers_min = 0;
  std::size_t closures_max = 0;
  std::size_t bytes_max = 0;
};

/// A closure that a coordinator has scheduled.
struct ScheduledClosure {
  std::int64_t number = 0;
};

/// Schedules closures on workers; see dtrain_coordinator.h for limits and errors. Movable. The
/// destructor ends the workers' service, and drops closures that wait. Arguments and results are
/// arbitrary bytes, not only text.
class Coordinator {
 public:
  explicit Coordinator(const CoordinatorOptions& options = {}) {
    dtrain_coordinator_options c = {};
    c.struct_size = sizeof c;
    c.identity = options.identity;
    c.ps = options.ps;
    c.role = options.role.c_str();
    c.workers_min = options.workers_min;
    c.closures_max = options.closures_max;
    c.bytes_max = options.bytes_max;
    dtrain_error error = detail::empty_error();
    coordinator_.reset(dtrain_coordinator_start(&c, &error));
    if (coordinator_ == nullptr) throw Error(error);
  }

  /// The handle for C functions; still owned by this.
  dtrain_coordinator* get() const { return coordinator_.get(); }

  /// Queues a closure whose result fetch() returns.
  ScheduledClosure schedule(const std::string& name, std::string_view argument = {}) {
    ScheduledClosure closure;
    run([&](dtrain_error* error) {
      return dtrain_coordinator_schedule(get(), name.c_str(), {argument.data(), argument.size()},
                                         &closure.number, error);
    });
    return closure;
  }
  /// Queues a closure whose result is dropped. join() throws its error.
  void schedule_without_result(const std::string& name, std::string_view argument = {}) {
    run([&](dtrain_error* error) {
      return dtrain_coordinator_schedule(get(), name.c_str(), {argument.data(), argument.size()},
                                         nullptr, error);
    });
  }
  /// Returns when all closures have finished. Throws the first error of one since the last join.
  void join(std::optional<std::chrono::milliseconds> timeout = {}) {
    run([&](dtrain_error* error) {
      return dtrain_coordinator_join(get(), milliseconds_of(timeout), error);
    });
  }
  /// Returns the result of a closure, once. Throws its error.
  std::string fetch(ScheduledClosure closure,
                    std::optional<std::chrono::milliseconds> timeout = {}) {
    dtrain_value* value = nullptr;
    run([&](dtrain_error* error) {
      return dtrain_coordinator_fetch(get(), closure.number, &value, milliseconds_of(timeout),
                                      error);
    });
    struct Free {
      void operator()(dtrain_value* owned) const { dtrain_value_free(owned); }
    };
    const std::unique_ptr<dtrain_value, Free> owner(value);
    return std::string(static_cast<const char*>(dtrain_value_data(value)),
                       dtrain_value_size(value));
  }
  /// True if all closures have finished.
  bool done() {
    int done = 0;
    run([&](dtrain_error* error) { return dtrain_coordinator_done(get(), &done, error); });
    return done != 0;
  }

 private:
  struct Close {
    void operator()(dtrain_coordinator* coordinator) const {
      dtrain_coordinator_close(coordinator);
    }
  };
  static int milliseconds_of(std::optional<std::chrono::milliseconds> timeout) {
    return timeout ? static_cast<int>(timeout->count()) : -1;
  }
  template <class Call>
  static void run(const Call& call) {
    dtrain_error error = detail::empty_error();
    if (call(&error) != DTRAIN_OK) throw Error(error);
  }

  std::unique_ptr<dtrain_coordinator, Close> coordinator_;
};

/// Gets the argument and returns the result. An exception ends the closure, not the worker; its
/// text reaches the coordinator.
using ClosureFunction = std::function<std::string(std::string_view argument)>;

/// As dtrain_coordinator_serve_options.
struct ServeClosuresOptions {
  const dtrain_init_options* identity = nullptr;
  dtrain_ps* ps = nullptr;
  std::string role = "chief";
  std::chrono::milliseconds timeout{0};
};

namespace detail {

inline int run_closure(dtrain_bytes argument, dtrain_closure_result* result, void* data,
                       dtrain_error* error) {
  const auto& function = *static_cast<const ClosureFunction*>(data);
  const auto failed = [&](int code, const char* text) {
    error->code = code;
    std::string(text).copy(error->text, sizeof error->text - 1);
    return code;
  };
  try {
    const std::string bytes =
        function(std::string_view(static_cast<const char*>(argument.data), argument.size));
    return dtrain_closure_return(result, {bytes.data(), bytes.size()}, error);
  } catch (const Error& thrown) {
    return failed(thrown.code(), thrown.what());
  } catch (const std::exception& thrown) {
    return failed(DTRAIN_ERROR_SYSTEM, thrown.what());
  } catch (...) {
    return failed(DTRAIN_ERROR_SYSTEM, "an exception that is no std::exception");
  }
}

}  // namespace detail

/// Runs closures on this thread until the coordinator closes; see dtrain_coordinator_serve.
inline void serve_closures(const std::map<std::string, ClosureFunction>& closures,
                           const ServeClosuresOptions& options = {}) {
  std::vector<ClosureFunction> functions;
  functions.reserve(closures.size());
  std::vector<dtrain_closure> list;
  for (const auto& [name, function] : closures) {
    functions.push_back(function);
    list.push_back({name.c_str(), detail::run_closure, &functions.back()});
  }
  dtrain_coordinator_serve_options c = {};
  c.struct_size = sizeof c;
  c.identity = options.identity;
  c.ps = options.ps;
  c.role = options.role.c_str();
  c.timeout_ms = static_cast<int>(options.timeout.count());
  dtrain_error error = detail::empty_error();
  if (dtrain_coordinator_serve({list.data(), list.size()}, &c, &error) != DTRAIN_OK)
    throw Error(error);
}

}  // namespace dtrain
