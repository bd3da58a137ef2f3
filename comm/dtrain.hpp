#pragma once

// libdtrain for C++20: dtrain.h with types, spans, RAII and exceptions. Header-only. The rules of
// the C header for shapes, threads and fork hold here, too.
//
//   dtrain::Context world = dtrain::init();
//   std::vector<float> gradients = …;
//   world.all_reduce(gradients, dtrain::Op::average);

#if __cplusplus <= 201703L
#error "dtrain.hpp needs C++20: compile with -std=c++20; dtrain.h is for C and for older C++"
#endif

#include "dtrain.h"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace dtrain {

/// The exception that every function here throws when it fails.
class Error : public std::runtime_error {
 public:
  explicit Error(const dtrain_error& error)
      : std::runtime_error(error.text),
        code_(static_cast<dtrain_status>(error.code)),
        rank_(error.rank) {}
  Error(dtrain_status code, const std::string& text)
      : std::runtime_error(text), code_(code), rank_(-1) {}

  dtrain_status code() const noexcept { return code_; }
  /// The rank to blame, or -1.
  int rank() const noexcept { return rank_; }

 private:
  dtrain_status code_;
  int rank_;
};

enum class Op {
  sum = DTRAIN_SUM,
  average = DTRAIN_AVERAGE,  ///< of floating-point types only
  min = DTRAIN_MIN,
  max = DTRAIN_MAX,
  product = DTRAIN_PRODUCT,
};

enum class Transport {
  automatic = DTRAIN_TRANSPORT_AUTO,
  shm = DTRAIN_TRANSPORT_SHM,
  tcp = DTRAIN_TRANSPORT_TCP,
};

/// 16 bits that the engine reads as IEEE 754 binary16. It has no arithmetic of its own.
struct float16 {  // NOLINT(readability-identifier-naming): named like the built-in types
  std::uint16_t bits;
};
/// The upper half of a float32.
struct bfloat16 {  // NOLINT(readability-identifier-naming): named like the built-in types
  std::uint16_t bits;
};

namespace detail {

template <class T>
constexpr dtrain_type type_of() {
  if constexpr (std::same_as<T, float16>) return DTRAIN_FLOAT16;
  if constexpr (std::same_as<T, bfloat16>) return DTRAIN_BFLOAT16;
  if constexpr (std::same_as<T, float>) return DTRAIN_FLOAT32;
  if constexpr (std::same_as<T, double>) return DTRAIN_FLOAT64;
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    // By size and sign, so that long and long long are both 64-bit integers.
    if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? DTRAIN_INT8 : DTRAIN_UINT8;
    if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? DTRAIN_INT32 : DTRAIN_UINT32;
    if constexpr (sizeof(T) == 8) return std::is_signed_v<T> ? DTRAIN_INT64 : DTRAIN_UINT64;
  }
  return dtrain_type{};
}

inline dtrain_error empty_error() {
  dtrain_error error = {};
  error.struct_size = sizeof error;
  error.rank = -1;
  return error;
}

}  // namespace detail

/// The types of an array's elements: integers of 8, 32 and 64 bits, float16, bfloat16, float,
/// double.
template <class T>
concept Element = detail::type_of<T>() != dtrain_type{};

/// Contiguous memory that outlives the call: a vector, array or span, but not a temporary vector.
template <class R>
concept Array = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                std::ranges::borrowed_range<R> && Element<std::ranges::range_value_t<R>>;
template <class R>
concept MutableArray =
    Array<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// How to join; see dtrain_init_options. With an empty role, the environment decides.
struct InitOptions {
  std::string role = {};
  int task_index = 0;
  std::string rendezvous = {};
  std::string token = {};
  std::string job = {};
  std::uint32_t generation = 0;
  Transport transport = Transport::automatic;
  std::chrono::milliseconds timeout = {};     ///< for all ranks to join; 0: 300 s
  std::chrono::milliseconds dead_after = {};  ///< 0: the value of dtrain run --dead-after
};

/// Options of one operation; see dtrain_op_options.
struct OpOptions {
  std::string name = {};
  std::chrono::milliseconds timeout = {};  ///< 0: none
};

namespace detail {

/// Converts milliseconds to an int for the C functions. Larger values become the maximum.
inline int milliseconds_of(std::chrono::milliseconds duration) {
  constexpr auto most = std::numeric_limits<int>::max();
  return duration.count() > most ? most : static_cast<int>(duration.count());
}

inline dtrain_op_options c_options(const OpOptions& options) {
  dtrain_op_options c = {};
  c.struct_size = sizeof c;
  c.name = options.name.empty() ? nullptr : options.name.c_str();
  c.timeout_ms = milliseconds_of(options.timeout);
  return c;
}

template <Array R>
dtrain_buffers read_only(R&& array) {
  return {std::ranges::data(array), nullptr, std::ranges::size(array),
          type_of<std::ranges::range_value_t<R>>()};
}
template <MutableArray R>
dtrain_buffers writable(R&& array) {
  return {nullptr, std::ranges::data(array), std::ranges::size(array),
          type_of<std::ranges::range_value_t<R>>()};
}

}  // namespace detail

/// An asynchronous operation. Its arrays must stay valid and unchanged until it is done; the
/// destructor waits for that. Movable; for one thread at a time.
class Work {
 public:
  /// Takes ownership of a C handle. It is null only in a moved-from Work.
  explicit Work(dtrain_work* work) : work_(work) {}

  /// Waits until the operation is done. Throws Error if it failed, at each call.
  void wait() { wait_ms(-1); }
  /// The same with a limit; returns false if `timeout` passed first.
  bool wait_for(std::chrono::milliseconds timeout) {
    return wait_ms(timeout.count() < 0 ? 0 : detail::milliseconds_of(timeout));
  }
  /// True when the operation has succeeded or failed.
  bool done() const { return dtrain_work_done(work_.get()) != 0; }

 private:
  bool wait_ms(int timeout_ms) {
    dtrain_error error = detail::empty_error();
    const int status = dtrain_work_wait(work_.get(), timeout_ms, &error);
    if (status == DTRAIN_PENDING) return false;
    if (status != DTRAIN_OK) throw Error(error);
    return true;
  }

  struct Free {
    void operator()(dtrain_work* work) const { dtrain_work_free(work); }
  };
  std::unique_ptr<dtrain_work, Free> work_;
};

/// The job's keys and values; see "The job's store" in dtrain.h for limits and errors. It refers to
/// its Context, which must outlive it. Values are arbitrary bytes, not only text.
class Store {
 public:
  explicit Store(dtrain_context* context) : context_(context) {}

  void set(const std::string& key, std::string_view value, const OpOptions& options = {}) {
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_set(context_, name, bytes_of(value), c, error);
    });
  }
  /// Returns the key's value; none when there is no such key.
  std::optional<std::string> get(const std::string& key, const OpOptions& options = {}) {
    dtrain_value* value = nullptr;
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_get(context_, name, &value, c, error);
    });
    return take(value);
  }
  /// Returns the key's value as soon as the key exists.
  std::string wait(const std::string& key, const OpOptions& options = {}) {
    dtrain_value* value = nullptr;
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_wait(context_, name, &value, c, error);
    });
    return take(value).value();
  }
  /// Adds the amount to the number that the key holds (0 without such a key); returns the sum.
  std::int64_t add(const std::string& key, std::int64_t amount, const OpOptions& options = {}) {
    std::int64_t number = amount;
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_add(context_, name, &number, c, error);
    });
    return number;
  }

  struct Exchange {
    bool done = false;                     ///< the key has been set
    std::optional<std::string> held = {};  ///< if not done: the key's value, if it exists
  };
  /// Sets the key if it holds `expected`. Without `expected`, sets it if it does not exist.
  Exchange compare_and_set(const std::string& key, std::optional<std::string_view> expected,
                           std::string_view desired, const OpOptions& options = {}) {
    dtrain_bytes before = {};
    dtrain_exchange exchange = {};
    if (expected) {
      before = bytes_of(*expected);
      exchange.expected = &before;
    }
    exchange.desired = bytes_of(desired);
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_compare_and_set(context_, name, &exchange, c, error);
    });
    return {exchange.done != 0, take(exchange.held)};
  }
  /// Erases the key; returns false when there was no such key.
  bool erase(const std::string& key, const OpOptions& options = {}) {
    int existed = 0;
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_erase(context_, name, &existed, c, error);
    });
    return existed != 0;
  }

 private:
  static dtrain_bytes bytes_of(std::string_view text) { return {text.data(), text.size()}; }

  static std::optional<std::string> take(dtrain_value* value) {
    struct Free {
      void operator()(dtrain_value* owned) const { dtrain_value_free(owned); }
    };
    const std::unique_ptr<dtrain_value, Free> owner(value);
    if (value == nullptr) return std::nullopt;
    return std::string(static_cast<const char*>(dtrain_value_data(value)),
                       dtrain_value_size(value));
  }

  template <class Call>
  static void run(const std::string& key, const OpOptions& options, const Call& call) {
    if (key.find('\0') != std::string::npos) {
      throw Error(DTRAIN_ERROR_INPUT, "a key must not contain a NUL byte");
    }
    const dtrain_op_options c = detail::c_options(options);
    dtrain_error error = detail::empty_error();
    if (call(key.c_str(), &c, &error) != DTRAIN_OK) throw Error(error);
  }

  dtrain_context* context_;
};

/// All ranks of a job, seen from one of them. Movable; leaves the job when destroyed. A
/// collective's array has the same size and type on every rank. Results have the same bits on
/// every rank.
class Context {
 public:
  /// Takes ownership of a C handle.
  explicit Context(dtrain_context* context) : context_(context) {}

  int rank() const { return dtrain_rank(get()); }
  int size() const { return dtrain_size(get()); }
  /// Among the ranks of this host.
  int local_rank() const { return dtrain_local_rank(get()); }
  int local_size() const { return dtrain_local_size(get()); }
  /// The index of this host among the hosts that have this local rank.
  int cross_rank() const { return dtrain_cross_rank(get()); }
  int cross_size() const { return dtrain_cross_size(get()); }
  /// The name of this rank's host as the job knows it.
  std::string host() const {
    const char* name = dtrain_host(get());
    return name == nullptr ? std::string() : name;
  }
  /// The handle for C functions; still owned by this.
  dtrain_context* get() const { return context_.get(); }
  /// Leaves the job now instead of at destruction.
  void finalize() { context_.reset(); }

  /// Returns the group of all ranks with the same color, ordered by key, then by rank; none if
  /// color is negative. A collective of this context. See dtrain_split for groups.
  std::optional<Context> split(int color, int key = 0, const OpOptions& options = {}) {
    return make_group(options,
                      [&](const dtrain_op_options* c, dtrain_context** group, dtrain_error* error) {
                        return dtrain_split(get(), color, key, c, group, error);
                      });
  }
  /// Returns the group of the ranks in the list, in its order; none for a rank that is not in it. A
  /// collective of this context: all its ranks give the same list.
  std::optional<Context> group(std::span<const int> ranks, const OpOptions& options = {}) {
    return make_group(
        options, [&](const dtrain_op_options* c, dtrain_context** group, dtrain_error* error) {
          return dtrain_group(get(), ranks.data(), static_cast<int>(ranks.size()), c, group, error);
        });
  }

  /// The keys and values that all ranks share.
  Store store() const { return Store(get()); }

  /// values[i] = op over all ranks of values[i].
  template <MutableArray R>
  void all_reduce(R&& values, Op op = Op::sum, const OpOptions& options = {}) {
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_reduce(get(), detail::writable(values), static_cast<int>(op), c, error);
    });
  }
  template <MutableArray R>
  Work all_reduce_async(R&& values, Op op = Op::sum, const OpOptions& options = {}) {
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_reduce_async(get(), detail::writable(values), static_cast<int>(op), c,
                                     error);
    });
  }

  /// values of every rank = values of rank `root`.
  template <MutableArray R>
  void broadcast(R&& values, int root, const OpOptions& options = {}) {
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_broadcast(get(), detail::writable(values), root, c, error);
    });
  }
  template <MutableArray R>
  Work broadcast_async(R&& values, int root, const OpOptions& options = {}) {
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_broadcast_async(get(), detail::writable(values), root, c, error);
    });
  }

  /// output = the inputs of all ranks by rank; it has size() times as many elements as input.
  template <Array In, MutableArray Out>
  void all_gather(In&& input, Out&& output, const OpOptions& options = {}) {
    const dtrain_buffers buffers = gathered(input, output);
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_gather(get(), buffers, c, error);
    });
  }
  template <Array In, MutableArray Out>
  Work all_gather_async(In&& input, Out&& output, const OpOptions& options = {}) {
    const dtrain_buffers buffers = gathered(input, output);
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_gather_async(get(), buffers, c, error);
    });
  }

  /// output = part rank() of the reduction of the inputs, which have size() times as many elements.
  template <Array In, MutableArray Out>
  void reduce_scatter(In&& input, Out&& output, Op op = Op::sum, const OpOptions& options = {}) {
    const dtrain_buffers buffers = scattered(input, output);
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_reduce_scatter(get(), buffers, static_cast<int>(op), c, error);
    });
  }
  template <Array In, MutableArray Out>
  Work reduce_scatter_async(In&& input, Out&& output, Op op = Op::sum,
                            const OpOptions& options = {}) {
    const dtrain_buffers buffers = scattered(input, output);
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_reduce_scatter_async(get(), buffers, static_cast<int>(op), c, error);
    });
  }

  /// Sends and receives between two ranks match in their order. They run beside the collectives.
  template <Array R>
  void send(R&& values, int to, const OpOptions& options = {}) {
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_send(get(), detail::read_only(values), to, c, error);
    });
  }
  template <Array R>
  Work send_async(R&& values, int to, const OpOptions& options = {}) {
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_send_async(get(), detail::read_only(values), to, c, error);
    });
  }
  template <MutableArray R>
  void recv(R&& values, int from, const OpOptions& options = {}) {
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_recv(get(), detail::writable(values), from, c, error);
    });
  }
  template <MutableArray R>
  Work recv_async(R&& values, int from, const OpOptions& options = {}) {
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_recv_async(get(), detail::writable(values), from, c, error);
    });
  }

  /// Returns when every rank has called it.
  void barrier(const OpOptions& options = {}) {
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_barrier(get(), c, error);
    });
  }
  Work barrier_async(const OpOptions& options = {}) {
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_barrier_async(get(), c, error);
    });
  }

 private:
  /// Calls a blocking C function, which needs no Work, no memory and no background thread.
  template <class Call>
  static void run(const OpOptions& options, const Call& call) {
    const dtrain_op_options c = detail::c_options(options);
    dtrain_error error = detail::empty_error();
    if (call(&c, &error) != DTRAIN_OK) throw Error(error);
  }

  template <class Make>
  static std::optional<Context> make_group(const OpOptions& options, const Make& make) {
    dtrain_context* group = nullptr;
    run(options,
        [&](const dtrain_op_options* c, dtrain_error* error) { return make(c, &group, error); });
    if (group == nullptr) return std::nullopt;
    return Context(group);
  }

  template <class Start>
  static Work start(const OpOptions& options, const Start& start_work) {
    const dtrain_op_options c = detail::c_options(options);
    dtrain_error error = detail::empty_error();
    dtrain_work* work = start_work(&c, &error);
    if (work == nullptr) throw Error(error);
    return Work(work);
  }

  template <class In, class Out>
  static dtrain_buffers pair(In& input, Out& output) {
    using Value = std::ranges::range_value_t<Out>;
    static_assert(std::same_as<std::ranges::range_value_t<In>, Value>,
                  "input and output must hold the same type");
    return {std::ranges::data(input), std::ranges::data(output), 0, detail::type_of<Value>()};
  }

  template <class In, class Out>
  dtrain_buffers gathered(In& input, Out& output) const {
    dtrain_buffers buffers = pair(input, output);
    buffers.count = std::ranges::size(input);
    require_parts("all_gather", std::ranges::size(output), buffers.count);
    return buffers;
  }
  template <class In, class Out>
  dtrain_buffers scattered(In& input, Out& output) const {
    dtrain_buffers buffers = pair(input, output);
    buffers.count = std::ranges::size(output);
    require_parts("reduce_scatter", std::ranges::size(input), buffers.count);
    return buffers;
  }

  void require_parts(const char* operation, std::size_t whole, std::size_t part) const {
    if (get() == nullptr || whole == part * static_cast<std::size_t>(size())) return;
    throw Error(DTRAIN_ERROR_INPUT,
                std::string(operation) + ": the larger array must hold size() = " +
                    std::to_string(size()) + " times as many elements as the smaller one, got " +
                    std::to_string(whole) + " and " + std::to_string(part));
  }

  struct Finalize {
    void operator()(dtrain_context* context) const { dtrain_finalize(context); }
  };
  std::unique_ptr<dtrain_context, Finalize> context_;
};

/// Joins the other ranks; see dtrain_init.
inline Context init(const InitOptions& options = {}) {
  dtrain_init_options c = {};
  c.struct_size = sizeof c;
  if (!options.role.empty()) {
    c.role = options.role.c_str();
    c.task_index = options.task_index;
    c.rendezvous = options.rendezvous.c_str();
    c.token = options.token.c_str();
    c.job = options.job.c_str();
    c.generation = options.generation;
  }
  c.transport = static_cast<int>(options.transport);
  c.timeout_ms = detail::milliseconds_of(options.timeout);
  c.dead_after_ms = detail::milliseconds_of(options.dead_after);
  dtrain_error error = detail::empty_error();
  dtrain_context* context = dtrain_init(&c, &error);
  if (context == nullptr) throw Error(error);
  return Context(context);
}

/// The library's version, such as "0.1.0".
inline std::string version() {
  return dtrain_version();
}

}  // namespace dtrain
