#pragma once

// Parameter servers for C++20: dtrain_ps.h with spans, RAII and exceptions.
//
//   dtrain::ParameterServers ps;
//   ps.declare({{.name = "w", .shape = {n}, .initial = w.data()}});
//   ps.push_pull({dtrain::PsArray::push_pull<float>("w", gradient, w)});

#include "dtrain_ps.h"
#include "dtrain_types.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtrain {

enum class PsOptimizer {
  sgd = DTRAIN_PS_SGD,
  momentum = DTRAIN_PS_MOMENTUM,
  adagrad = DTRAIN_PS_ADAGRAD,
  rms_prop = DTRAIN_PS_RMS_PROP,
  adam = DTRAIN_PS_ADAM,
  ftrl = DTRAIN_PS_FTRL,
};

enum class PsPlacement {
  lpt = DTRAIN_PS_LPT,
  round_robin = DTRAIN_PS_ROUND_ROBIN,
  greedy = DTRAIN_PS_GREEDY,
  hash = DTRAIN_PS_HASH,
};

enum class PsMode {
  async = DTRAIN_PS_ASYNC,
  sync = DTRAIN_PS_SYNC,        ///< count: the workers of a step; 0: all
  bounded = DTRAIN_PS_BOUNDED,  ///< count: how many pushes a worker may be ahead
};

/// As dtrain_ps_options; the environment has the identity of this task unless `identity` has it.
struct PsOptions {
  const dtrain_init_options* identity = nullptr;
  std::string role = "ps";
  std::chrono::milliseconds timeout{0};       ///< 0: 300 s
  std::chrono::milliseconds call_timeout{0};  ///< 0: no limit
  PsPlacement placement = PsPlacement::lpt;
  int shards = 0;
  std::size_t shard_bytes_max = 0;
  std::size_t shard_bytes_min = 0;
  dtrain_context* context = nullptr;  ///< of this process's Context, if it has one
  int replicas = 0;  ///< copies of each variable; 0: as `dtrain run --ps-replicas` gives
};

/// As dtrain_ps_variable: a setting that is 0 has its default.
struct PsVariable {
  std::string name;
  std::vector<std::size_t> shape = {};  ///< none: a single number
  int type = DTRAIN_FLOAT32;
  const void* initial = nullptr;
  PsOptimizer optimizer = PsOptimizer::sgd;
  bool nesterov = false;
  double learning_rate = 0;
  double momentum = 0;
  double decay = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double initial_accumulator = 0;
  double l1 = 0;
  double l2 = 0;
  double learning_rate_power = 0;
};

/// The memory of one variable in a call: its gradient, its values, or both. With `rows`, they have
/// only these rows.
struct PsArray {
  std::string name;
  const void* gradient = nullptr;
  void* values = nullptr;
  std::size_t count = 0;
  std::optional<std::span<const std::int64_t>> rows = {};

  template <class T>
  static PsArray push(std::string_view name, std::span<const T> gradient) {
    return {.name = std::string(name), .gradient = gradient.data(), .count = gradient.size()};
  }
  template <class T>
  static PsArray pull(std::string_view name, std::span<T> values) {
    return {.name = std::string(name), .values = values.data(), .count = values.size()};
  }
  /// Both have the same size.
  template <class T>
  static PsArray push_pull(std::string_view name, std::span<const T> gradient,
                           std::span<T> values) {
    if (gradient.size() != values.size())
      throw Error(DTRAIN_ERROR_INPUT,
                  "the gradient and the values of " + std::string(name) + " have different sizes");
    return {.name = std::string(name),
            .gradient = gradient.data(),
            .values = values.data(),
            .count = values.size()};
  }
};

struct PsPushOptions {
  double learning_rate = 0;  ///< 0: that of each variable
  double clip_norm = 0;      ///< 0: no clipping
};

struct PsPushed {
  bool counted = true;  ///< false: it came too late for its synchronous step
  std::int64_t step = 0;
  double norm = 0;
};

/// The connections of this task to the job's parameter servers. Movable; closes them when
/// destroyed.
class ParameterServers {
 public:
  explicit ParameterServers(const PsOptions& options = {}) {
    dtrain_ps_options c = {};
    c.struct_size = sizeof c;
    c.identity = options.identity;
    c.role = options.role.c_str();
    c.timeout_ms = static_cast<int>(options.timeout.count());
    c.call_timeout_ms = static_cast<int>(options.call_timeout.count());
    c.placement = static_cast<int>(options.placement);
    c.shards = options.shards;
    c.shard_bytes_max = options.shard_bytes_max;
    c.shard_bytes_min = options.shard_bytes_min;
    c.context = options.context;
    c.replicas = options.replicas;
    dtrain_error error = detail::empty_error();
    ps_.reset(dtrain_ps_connect(&c, &error));
    if (ps_ == nullptr) throw Error(error);
  }

  /// The handle for C functions; still owned by this.
  dtrain_ps* get() const { return ps_.get(); }

  /// Returns when the variables have the first rank's initial values.
  void declare(const std::vector<PsVariable>& variables) {
    std::vector<dtrain_ps_variable> list;
    for (const PsVariable& variable : variables)
      list.push_back(c_variable(variable));
    run([&](dtrain_error* e) { return dtrain_ps_declare(get(), list.data(), list.size(), e); });
  }

  PsPushed push(const std::vector<PsArray>& arrays, const PsPushOptions& options = {}) {
    return push(arrays, options, dtrain_ps_push);
  }
  /// Pushes, and returns the values afterwards in the arrays.
  PsPushed push_pull(const std::vector<PsArray>& arrays, const PsPushOptions& options = {}) {
    return push(arrays, options, dtrain_ps_push_pull);
  }
  /// Returns the servers' step.
  std::int64_t pull(const std::vector<PsArray>& arrays) {
    const std::vector<dtrain_ps_array> list = c_arrays(arrays);
    std::int64_t step = 0;
    run([&](dtrain_error* e) {
      return dtrain_ps_pull(get(), {list.data(), list.size()}, &step, e);
    });
    return step;
  }

  void set_mode(PsMode mode, int count = 0) {
    run([&](dtrain_error* e) {
      return dtrain_ps_set_mode(get(), static_cast<int>(mode), count, e);
    });
  }
  std::int64_t step() {
    std::int64_t step = 0;
    run([&](dtrain_error* e) { return dtrain_ps_step(get(), &step, e); });
    return step;
  }
  void barrier() {
    run([&](dtrain_error* e) { return dtrain_ps_barrier(get(), e); });
  }
  void save(const std::string& path) {
    run([&](dtrain_error* e) { return dtrain_ps_save(get(), path.c_str(), e); });
  }
  /// Returns the step of the checkpoint.
  std::int64_t load(const std::string& path) {
    std::int64_t step = 0;
    run([&](dtrain_error* e) { return dtrain_ps_load(get(), path.c_str(), &step, e); });
    return step;
  }
  dtrain_ps_statistics statistics() {
    dtrain_ps_statistics counts = {};
    counts.struct_size = sizeof counts;
    run([&](dtrain_error* e) { return dtrain_ps_count(get(), &counts, e); });
    return counts;
  }
  /// The place of each shard, and the bytes of each server, as text.
  std::string table() const {
    std::string text(dtrain_ps_table(get(), nullptr, 0), '\0');
    dtrain_ps_table(get(), text.data(), text.size() + 1);
    return text;
  }

 private:
  struct Close {
    void operator()(dtrain_ps* ps) const { dtrain_ps_close(ps); }
  };
  template <class Call>
  static void run(const Call& call) {
    dtrain_error error = detail::empty_error();
    if (call(&error) != DTRAIN_OK) throw Error(error);
  }
  static dtrain_ps_variable c_variable(const PsVariable& variable) {
    dtrain_ps_variable c = {};
    c.struct_size = sizeof c;
    c.name = variable.name.c_str();
    c.shape = variable.shape.data();
    c.dims = static_cast<int>(variable.shape.size());
    c.type = variable.type;
    c.initial = variable.initial;
    c.optimizer = static_cast<int>(variable.optimizer);
    c.nesterov = variable.nesterov ? 1 : 0;
    c.learning_rate = variable.learning_rate;
    c.momentum = variable.momentum;
    c.decay = variable.decay;
    c.beta1 = variable.beta1;
    c.beta2 = variable.beta2;
    c.epsilon = variable.epsilon;
    c.initial_accumulator = variable.initial_accumulator;
    c.l1 = variable.l1;
    c.l2 = variable.l2;
    c.learning_rate_power = variable.learning_rate_power;
    return c;
  }
  static std::vector<dtrain_ps_array> c_arrays(const std::vector<PsArray>& arrays) {
    // A list without rows is not the same as all rows.
    static constexpr std::int64_t no_rows = 0;
    std::vector<dtrain_ps_array> list;
    for (const PsArray& array : arrays) {
      dtrain_ps_array c = {};
      c.name = array.name.c_str();
      c.gradient = array.gradient;
      c.values = array.values;
      c.count = array.count;
      if (array.rows) c.rows = array.rows->empty() ? &no_rows : array.rows->data();
      if (array.rows) c.row_count = array.rows->size();
      list.push_back(c);
    }
    return list;
  }
  template <class Call>
  PsPushed push(const std::vector<PsArray>& arrays, const PsPushOptions& options,
                const Call& call) {
    const std::vector<dtrain_ps_array> list = c_arrays(arrays);
    dtrain_ps_push_options c = {};
    c.struct_size = sizeof c;
    c.learning_rate = options.learning_rate;
    c.clip_norm = options.clip_norm;
    dtrain_ps_pushed pushed = {};
    pushed.struct_size = sizeof pushed;
    run([&](dtrain_error* e) {
      return call(get(), dtrain_ps_arrays{list.data(), list.size()}, &c, &pushed, e);
    });
    return {pushed.counted != 0, pushed.step, pushed.norm};
  }

  std::unique_ptr<dtrain_ps, Close> ps_;
};

/// The addresses of a job's tasks, by --cluster_spec.
class ClusterSpec {
 public:
  /// Reads "worker|host:port;host:port,ps|host:port".
  static ClusterSpec parse(const std::string& text) {
    dtrain_error error = detail::empty_error();
    ClusterSpec cluster;
    cluster.cluster_.reset(dtrain_cluster_parse(text.c_str(), &error));
    if (cluster.cluster_ == nullptr) throw Error(error);
    return cluster;
  }
  /// The number of the job's tasks; 0 if there is no such job.
  int tasks(const std::string& job) const {
    return dtrain_cluster_tasks(cluster_.get(), job.c_str());
  }
  /// Returns "host:port"; none if there is no such task.
  std::optional<std::string> address(const std::string& job, int task) const {
    const char* const found = dtrain_cluster_address(cluster_.get(), job.c_str(), task);
    if (found == nullptr) return std::nullopt;
    return std::string(found);
  }

 private:
  struct Free {
    void operator()(dtrain_cluster* cluster) const { dtrain_cluster_free(cluster); }
  };
  std::unique_ptr<dtrain_cluster, Free> cluster_;
};

/// Serves variables until all tasks with a rank have died or left; see dtrain_ps_serve.
inline void serve_parameters() {
  dtrain_error error = detail::empty_error();
  if (dtrain_ps_serve(nullptr, &error) != DTRAIN_OK) throw Error(error);
}

}  // namespace dtrain
