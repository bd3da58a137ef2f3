#pragma once

// Strategies for C++20: dtrain_strategy.h with types, spans and exceptions. Header-only.
//
//   dtrain::Strategy strategy(world);                     // by dtrain run --strategy
//   auto weights = strategy.variable<float>("weights", initial);
//   auto losses = strategy.run([&](dtrain::Replica& replica) {
//     std::vector<float> gradient = …;                    // of replica.shard(batch)
//     replica.apply<float>({{weights, gradient}}, dtrain::Op::average,
//                          [&](auto, auto value, auto gradient) { … });
//     return loss;
//   });
//   double loss = strategy.reduce(dtrain::Op::average, losses);

#include "dtrain.hpp"
#include "dtrain_strategy.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dtrain {

/// As dtrain_strategy_options; what is empty comes from the environment.
struct StrategyOptions {
  std::string name = {};
  std::string devices = {};
  std::string cross_device_op = {};
  std::size_t bytes_per_pack = 0;
  std::chrono::milliseconds timeout = {};
  bool asynchronous = false;
  std::string ps_mode = {};
  std::string communication = {};
  bool soft_placement = false;
  bool log_placement = false;
  std::size_t device_memory = 0;
};

enum class Synchronization { on_write = DTRAIN_ON_WRITE, on_read = DTRAIN_ON_READ };
enum class Aggregation {
  sum = DTRAIN_AGGREGATE_SUM,
  mean = DTRAIN_AGGREGATE_MEAN,
  first_replica = DTRAIN_AGGREGATE_FIRST_REPLICA,
};

struct VariableOptions {
  Synchronization synchronization = Synchronization::on_write;
  Aggregation aggregation = Aggregation::sum;
  bool slot = false;        ///< a number of an optimiser; see dtrain_variable_options
  std::string device = {};  ///< of the only copy; empty: the strategy decides
};

/// A variable of a strategy, which owns it and must outlive this.
template <Element T>
class Variable {
 public:
  Variable(dtrain_variable* variable, std::size_t count) : variable_(variable), count_(count) {}

  std::size_t size() const { return count_; }
  /// Returns the value; see dtrain_variable_read.
  std::vector<T> read() const {
    std::vector<detail::Cell<T>> values(count_);
    dtrain_error error = detail::empty_error();
    if (count_ > 0 && dtrain_variable_read(variable_, values.data(), &error) != DTRAIN_OK)
      throw Error(error);
    return detail::vector_of<T>(std::move(values));
  }
  /// Sets the value on all replicas to that of rank 0; see dtrain_variable_write.
  void write(std::span<const T> values) const {
    if (values.size() != count_)
      throw Error(DTRAIN_ERROR_INPUT, "write: the variable has another number of elements");
    dtrain_error error = detail::empty_error();
    if (count_ > 0 && dtrain_variable_write(variable_, values.data(), &error) != DTRAIN_OK)
      throw Error(error);
  }
  dtrain_variable* get() const { return variable_; }

 private:
  dtrain_variable* variable_;
  std::size_t count_;
};

/// A gradient of a replica for a variable; the reduced one replaces it.
template <Element T>
struct Gradient {
  const Variable<T>& variable;
  std::span<T> values;
};

/// A value of each replica of this process.
template <class T>
class PerReplica {
 public:
  explicit PerReplica(std::vector<T> values) : values_(std::move(values)) {}
  std::size_t size() const { return values_.size(); }
  decltype(auto) operator[](std::size_t local_replica) const { return values_[local_replica]; }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::vector<T> values_;
};

/// A replica within its step. Only its own thread uses it. Functions that reduce are called by all
/// replicas, in the same order.
class Replica {
 public:
  Replica(dtrain_replica* replica, int count) : replica_(replica), count_(count) {}

  /// Its number among all replicas of all workers, and their number.
  std::size_t index() const { return static_cast<std::size_t>(dtrain_replica_index(replica_)); }
  std::size_t count() const { return static_cast<std::size_t>(count_); }
  /// Its number in this process.
  std::size_t local_index() const {
    return static_cast<std::size_t>(dtrain_replica_local_index(replica_));
  }
  /// Returns the part of a batch that this replica computes.
  Range shard(Range batch) const { return dtrain::shard(batch, index(), count()); }
  /// Returns the files that this replica reads.
  std::vector<std::string> files(std::span<const std::string> all) const {
    return shard_files(all, index(), count());
  }

  /// The copy of the variable that this replica uses; see dtrain_replica_data.
  template <Element T>
  std::span<T> data(const Variable<T>& variable) const {
    auto* const memory = static_cast<T*>(dtrain_replica_data(replica_, variable.get()));
    if (memory == nullptr && variable.size() > 0)
      throw Error(DTRAIN_ERROR_INPUT, "data: the variable is of another strategy");
    return {memory, variable.size()};
  }

  /// values[i] = op over all replicas of values[i].
  template <MutableArray R>
  void all_reduce(R&& values, Op op = Op::sum) {
    const dtrain_buffers tensor = detail::writable(values);
    check([&](dtrain_error* error) {
      return dtrain_replica_all_reduce(replica_, &tensor, 1, static_cast<dtrain_op>(op), error);
    });
  }
  /// The same for several arrays at once.
  template <std::ranges::forward_range Arrays>
    requires MutableArray<std::ranges::range_reference_t<Arrays>>
  void all_reduce_list(Arrays&& arrays, Op op = Op::sum) {
    std::vector<dtrain_buffers> tensors;
    for (auto&& array : arrays)
      tensors.push_back(detail::writable(array));
    check([&](dtrain_error* error) {
      return dtrain_replica_all_reduce(replica_, tensors.data(), tensors.size(),
                                       static_cast<dtrain_op>(op), error);
    });
  }
  /// values = their mean over all examples of all replicas. Each replica gives the sums over its
  /// own examples and their number, which may be 0. Returns the number of all examples. The
  /// result is also correct at the end of a data set, where replicas have different numbers of
  /// examples; an average of averages is not.
  template <std::floating_point T>
  std::size_t mean_of_sums(std::span<T> values, std::size_t examples) {
    std::array<std::uint64_t, 1> all = {examples};
    const std::array tensors = {detail::writable(values), detail::writable(all)};
    check([&](dtrain_error* error) {
      return dtrain_replica_all_reduce(replica_, tensors.data(), tensors.size(), DTRAIN_SUM, error);
    });
    if (all[0] == 0) return 0;
    for (T& value : values)
      value /= static_cast<T>(all[0]);
    return static_cast<std::size_t>(all[0]);
  }
  /// Returns true while a replica has data. A replica whose part has ended continues without any.
  bool any(bool ours) {
    std::array<std::uint8_t, 1> flag = {static_cast<std::uint8_t>(ours ? 1 : 0)};
    all_reduce(flag, Op::max);
    return flag[0] != 0;
  }

  /// Reduces the gradients over all replicas, then calls `update(index, value, gradient)` once for
  /// each copy of each variable; see dtrain_replica_apply. It changes the span `value`.
  template <Element T, class Update>
  void apply(std::span<const Gradient<T>> gradients, Op op, const Update& update) {
    std::vector<dtrain_gradient> list;
    for (const Gradient<T>& gradient : gradients) {
      if (gradient.values.size() != gradient.variable.size())
        throw Error(DTRAIN_ERROR_INPUT, "apply: a gradient has another size than its variable");
      list.push_back({gradient.variable.get(), gradient.values.data()});
    }
    std::exception_ptr thrown;
    const auto call = [&](std::size_t i) {
      try {
        update(i, data(gradients[i].variable), std::span<const T>(gradients[i].values));
        return 0;
      } catch (...) {
        thrown = std::current_exception();
        return 1;
      }
    };
    const dtrain_gradient_list all = {list.data(), list.size(), static_cast<dtrain_op>(op)};
    dtrain_error error = detail::empty_error();
    const int status = dtrain_replica_apply(
        replica_, &all,
        [](dtrain_replica*, std::size_t index, void* function) {
          return (*static_cast<const decltype(call)*>(function))(index);
        },
        const_cast<void*>(static_cast<const void*>(&call)), &error);
    if (thrown) std::rethrow_exception(thrown);
    if (status != DTRAIN_OK) throw Error(error);
  }
  template <Element T, class Update>
  void apply(std::initializer_list<Gradient<T>> gradients, Op op, const Update& update) {
    apply(std::span<const Gradient<T>>(gradients.begin(), gradients.size()), op, update);
  }

  /// Sets the variable on all replicas to the aggregate of the values that all replicas give.
  template <Element T>
  void assign(const Variable<T>& variable, std::span<const T> values) {
    if (values.size() != variable.size())
      throw Error(DTRAIN_ERROR_INPUT, "assign: the variable has another number of elements");
    check([&](dtrain_error* error) {
      return dtrain_replica_assign(replica_, variable.get(), values.data(), error);
    });
  }

  dtrain_replica* get() const { return replica_; }

 private:
  template <class Call>
  void check(const Call& call) {
    dtrain_error error = detail::empty_error();
    if (call(&error) != DTRAIN_OK) throw Error(error);
  }

  dtrain_replica* replica_;
  int count_;
};

/// How a training loop runs on devices and workers; see dtrain_strategy.h. Movable.
class Strategy {
 public:
  /// Takes ownership of a C handle.
  explicit Strategy(dtrain_strategy* strategy) : strategy_(strategy) {}
  /// Joins the job by itself; see dtrain_strategy_create.
  explicit Strategy(const StrategyOptions& options = {}) : Strategy(options, nullptr) {}
  /// A collective of the context, which must outlive this.
  explicit Strategy(const Context& world, const StrategyOptions& options = {})
      : Strategy(options, world.get()) {}

  std::string name() const { return dtrain_strategy_name(get()); }
  /// The number of replicas of all workers, and of this process.
  std::size_t replicas() const { return static_cast<std::size_t>(dtrain_strategy_replicas(get())); }
  std::size_t local_replicas() const {
    return static_cast<std::size_t>(dtrain_strategy_local_replicas(get()));
  }
  /// The number of this process's first replica.
  std::size_t first_replica() const {
    return static_cast<std::size_t>(dtrain_strategy_first_replica(get()));
  }
  /// The number of this process among the workers, and their number.
  std::size_t worker() const { return static_cast<std::size_t>(dtrain_strategy_worker(get())); }
  std::size_t workers() const { return static_cast<std::size_t>(dtrain_strategy_workers(get())); }
  /// True in the process that reports, and writes checkpoints.
  bool is_chief() const { return dtrain_strategy_is_chief(get()) != 0; }
  std::string device(std::size_t local_replica) const {
    const char* const name = dtrain_strategy_device(get(), static_cast<int>(local_replica));
    return name == nullptr ? std::string() : name;
  }

  /// Returns where the replicas and variables are, a line each.
  std::string placement() const {
    std::string text(dtrain_strategy_placement(get(), nullptr, 0), '\0');
    dtrain_strategy_placement(get(), text.data(), text.size() + 1);
    return text;
  }

  /// Makes a variable with rank 0's values, or zeros. A collective; see dtrain_variable_create.
  template <Element T>
  Variable<T> variable(const std::string& name, std::span<const T> initial,
                       const VariableOptions& options = {}) {
    return make_variable<T>(name, initial.size(), initial.data(), options);
  }
  template <Element T>
  Variable<T> zeros(const std::string& name, std::size_t count,
                    const VariableOptions& options = {}) {
    return make_variable<T>(name, count, nullptr, options);
  }

  /// Makes variables whose names begin with "NAME/".
  class Scope {
   public:
    Scope(Strategy& strategy, std::string name) : strategy_(strategy), name_(std::move(name)) {}
    template <Element T>
    Variable<T> variable(const std::string& name, std::span<const T> initial,
                         const VariableOptions& options = {}) const {
      return strategy_.variable<T>(name_ + "/" + name, initial, options);
    }
    template <Element T>
    Variable<T> zeros(const std::string& name, std::size_t count,
                      const VariableOptions& options = {}) const {
      return strategy_.zeros<T>(name_ + "/" + name, count, options);
    }
    Scope scope(const std::string& name) const { return {strategy_, name_ + "/" + name}; }

   private:
    Strategy& strategy_;
    std::string name_;
  };
  Scope scope(std::string name) { return {*this, std::move(name)}; }

  /// Calls `step(replica)` on each replica of this process, each on a thread, and returns their
  /// results. Throws Error, which names the replica, when a step throws; see dtrain_strategy_run.
  template <class Step>
  auto run(const Step& step) {
    using Value = std::invoke_result_t<const Step&, Replica&>;
    if constexpr (std::is_void_v<Value>) {
      run_step([&](Replica& replica) { step(replica); });
    } else {
      std::vector<std::optional<Value>> found(local_replicas());
      run_step([&](Replica& replica) { found[replica.local_index()].emplace(step(replica)); });
      std::vector<Value> values;
      for (std::optional<Value>& value : found)
        values.push_back(*std::move(value));
      return PerReplica<Value>(std::move(values));
    }
  }

  /// Returns the reduction of the values of all replicas of all workers. A collective.
  template <Element T>
  T reduce(Op op, const PerReplica<T>& values) {
    const std::vector<detail::Cell<T>> all(values.begin(), values.end());
    std::vector<const void*> inputs;
    for (const detail::Cell<T>& value : all)
      inputs.push_back(&value);
    T result = {};
    reduce_arrays(op, inputs, {nullptr, &result, 1, detail::type_of<T>()});
    return result;
  }
  /// The same for each element of arrays of one size, which std::vector<bool> is not.
  template <Element T>
    requires(!std::same_as<T, bool>)
  std::vector<T> reduce(Op op, const PerReplica<std::vector<T>>& arrays) {
    std::vector<const void*> inputs;
    for (const std::vector<T>& array : arrays) {
      if (array.size() != arrays[0].size())
        throw Error(DTRAIN_ERROR_INPUT, "reduce: the replicas' arrays differ in size");
      inputs.push_back(array.data());
    }
    std::vector<T> result(arrays[0].size());
    reduce_arrays(op, inputs, {nullptr, result.data(), result.size(), detail::type_of<T>()});
    return result;
  }
  /// Returns the arrays of all replicas behind each other, by replica; sizes may differ. A
  /// collective.
  template <Element T>
    requires(!std::same_as<T, bool>)
  std::vector<T> gather(const PerReplica<std::vector<T>>& arrays) {
    std::vector<T> ours;
    for (const std::vector<T>& array : arrays)
      ours.insert(ours.end(), array.begin(), array.end());
    dtrain_context* const workers = dtrain_strategy_context(get());
    if (dtrain_size(workers) <= 1) return ours;
    dtrain_work* c_work = nullptr;
    dtrain_error error = detail::empty_error();
    if (dtrain_all_gather_v(workers, detail::read_only(ours), &c_work, nullptr, &error) !=
        DTRAIN_OK)
      throw Error(error);
    const Work work(c_work);
    const auto parts = work.parts<T>();
    return {parts.values().begin(), parts.values().end()};
  }

  /// Returns the examples of a batch for one replica. Throws Error unless all get equally many.
  std::size_t per_replica_batch(std::size_t global_batch) const {
    if (global_batch % replicas() == 0) return global_batch / replicas();
    throw Error(DTRAIN_ERROR_INPUT, "a batch of " + std::to_string(global_batch) +
                                        " does not divide by " + std::to_string(replicas()) +
                                        " replicas");
  }
  std::size_t global_batch(std::size_t per_replica) const { return per_replica * replicas(); }
  /// Returns the rate for a batch that has `rate` on one replica: times their number (Goyal et al.,
  /// 2017).
  double scaled_learning_rate(double rate) const { return rate * static_cast<double>(replicas()); }

  /// Writes all variables, and sets them to those of a file; see dtrain_strategy_save. Collectives.
  void save(const std::string& path) {
    check([&](dtrain_error* error) { return dtrain_strategy_save(get(), path.c_str(), error); });
  }
  void restore(const std::string& path) {
    check([&](dtrain_error* error) { return dtrain_strategy_restore(get(), path.c_str(), error); });
  }

  /// The handle for C functions; still owned by this.
  dtrain_strategy* get() const { return strategy_.get(); }

 private:
  Strategy(const StrategyOptions& options, dtrain_context* context) {
    dtrain_strategy_options c = {};
    c.struct_size = sizeof c;
    c.name = options.name.empty() ? nullptr : options.name.c_str();
    c.devices = options.devices.empty() ? nullptr : options.devices.c_str();
    c.cross_device_op = options.cross_device_op.empty() ? nullptr : options.cross_device_op.c_str();
    c.bytes_per_pack = options.bytes_per_pack;
    c.timeout_ms = detail::milliseconds_of(options.timeout);
    c.asynchronous = options.asynchronous ? 1 : 0;
    c.ps_mode = options.ps_mode.empty() ? nullptr : options.ps_mode.c_str();
    c.communication = options.communication.empty() ? nullptr : options.communication.c_str();
    c.soft_placement = options.soft_placement ? 1 : 0;
    c.log_placement = options.log_placement ? 1 : 0;
    c.device_memory = options.device_memory;
    dtrain_error error = detail::empty_error();
    strategy_.reset(dtrain_strategy_create(context, &c, &error));
    if (!strategy_) throw Error(error);
  }

  template <class Call>
  void check(const Call& call) const {
    dtrain_error error = detail::empty_error();
    if (call(&error) != DTRAIN_OK) throw Error(error);
  }

  template <Element T>
  Variable<T> make_variable(const std::string& name, std::size_t count, const T* initial,
                            const VariableOptions& options) {
    dtrain_variable_options c = {};
    c.struct_size = sizeof c;
    c.name = name.c_str();
    c.count = count;
    c.type = detail::type_of<T>();
    c.initial = initial;
    c.synchronization = static_cast<int>(options.synchronization);
    c.aggregation = static_cast<int>(options.aggregation);
    c.slot = options.slot ? 1 : 0;
    c.device = options.device.empty() ? nullptr : options.device.c_str();
    dtrain_variable* made = nullptr;
    check([&](dtrain_error* error) { return dtrain_variable_create(get(), &c, &made, error); });
    return Variable<T>(made, count);
  }

  void reduce_arrays(Op op, const std::vector<const void*>& inputs, const dtrain_buffers& output) {
    check([&](dtrain_error* error) {
      return dtrain_strategy_reduce(get(), inputs.data(), output, static_cast<dtrain_op>(op),
                                    error);
    });
  }

  void run_step(const std::function<void(Replica&)>& step) {
    const int count = dtrain_strategy_replicas(get());
    const auto call = [&](dtrain_replica* c_replica) {
      try {
        Replica replica(c_replica, count);
        step(replica);
        return 0;
      } catch (const std::exception& thrown) {
        dtrain_replica_fail(c_replica, thrown.what());
      } catch (...) {
        dtrain_replica_fail(c_replica, "it threw an exception that is no std::exception");
      }
      return 1;
    };
    check([&](dtrain_error* error) {
      return dtrain_strategy_run(
          get(),
          [](dtrain_replica* replica, void* function) {
            return (*static_cast<const decltype(call)*>(function))(replica);
          },
          const_cast<void*>(static_cast<const void*>(&call)), error);
    });
  }

  struct Free {
    void operator()(dtrain_strategy* strategy) const { dtrain_strategy_free(strategy); }
  };
  std::unique_ptr<dtrain_strategy, Free> strategy_ = {};
};

}  // namespace dtrain

#include "dtrain_training.hpp"  // IWYU pragma: export
