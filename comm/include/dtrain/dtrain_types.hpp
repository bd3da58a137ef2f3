#pragma once

// The types that the functions of dtrain.hpp take, return and throw. Programs include dtrain.hpp.

#include "dtrain.h"
#include "dtrain_device.h"
#include "dtrain_memory.h"
#include "dtrain_work.h"

#include <algorithm>
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
#include <type_traits>
#include <vector>

namespace dtrain {

/// The library's version, such as "0.1.0".
inline std::string version() {
  return dtrain_version();
}

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

/// Where an input of a rank is NaN, every result is NaN. For bool, sum and max are "or", product
/// and min are "and".
enum class Op {
  sum = DTRAIN_SUM,
  average = DTRAIN_AVERAGE,  ///< integers: the sum in their own width, divided toward zero
  min = DTRAIN_MIN,
  max = DTRAIN_MAX,
  product = DTRAIN_PRODUCT,
  adasum = DTRAIN_ADASUM,  ///< only of all_reduce and floats; see dtrain.h
};

/// The ranks that an average is over, while some have joined.
enum class AverageOver {
  all_ranks = DTRAIN_ALL_RANKS,
  active_ranks = DTRAIN_ACTIVE_RANKS,
};

/// The type as which a reduction of float or double is sent and added.
enum class Compression {
  none = DTRAIN_NO_COMPRESSION,
  float16 = DTRAIN_COMPRESSION_FLOAT16,
  bfloat16 = DTRAIN_COMPRESSION_BFLOAT16,
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
/// 8 bits that the engine reads as DTRAIN_FLOAT8_E4M3.
struct float8_e4m3 {  // NOLINT(readability-identifier-naming): named like the built-in types
  std::uint8_t bits;
};
/// 8 bits that the engine reads as DTRAIN_FLOAT8_E5M2.
struct float8_e5m2 {  // NOLINT(readability-identifier-naming): named like the built-in types
  std::uint8_t bits;
};

namespace detail {

inline dtrain_op number_of(Op op) {
  return static_cast<dtrain_op>(op);
}

static_assert(sizeof(bool) == 1, "DTRAIN_BOOL is a byte");

template <class T>
constexpr dtrain_type type_of() {
  if constexpr (std::same_as<T, float16>) return DTRAIN_FLOAT16;
  if constexpr (std::same_as<T, bfloat16>) return DTRAIN_BFLOAT16;
  if constexpr (std::same_as<T, float8_e4m3>) return DTRAIN_FLOAT8_E4M3;
  if constexpr (std::same_as<T, float8_e5m2>) return DTRAIN_FLOAT8_E5M2;
  if constexpr (std::same_as<T, float>) return DTRAIN_FLOAT32;
  if constexpr (std::same_as<T, double>) return DTRAIN_FLOAT64;
  if constexpr (std::same_as<T, bool>) return DTRAIN_BOOL;
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    // By size and sign, so that long and long long are both 64-bit integers.
    if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? DTRAIN_INT8 : DTRAIN_UINT8;
    if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? DTRAIN_INT16 : DTRAIN_UINT16;
    if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? DTRAIN_INT32 : DTRAIN_UINT32;
    if constexpr (sizeof(T) == 8) return std::is_signed_v<T> ? DTRAIN_INT64 : DTRAIN_UINT64;
  }
  return dtrain_type{};
}

/// An element in the memory of a std::vector. A vector of bool has bits, which have no addresses.
template <class T>
using Cell = std::conditional_t<std::same_as<T, bool>, unsigned char, T>;

template <class T>
std::vector<T> vector_of(std::vector<Cell<T>> cells) {
  if constexpr (std::same_as<T, Cell<T>>)
    return cells;
  else
    return {cells.begin(), cells.end()};
}

inline dtrain_error empty_error() {
  dtrain_error error = {};
  error.struct_size = sizeof error;
  error.rank = -1;
  return error;
}

}  // namespace detail

/// The types of an array's elements: integers of 8 to 64 bits, bool, float8_e4m3, float8_e5m2,
/// float16, bfloat16, float, double.
template <class T>
concept Element = detail::type_of<T>() != dtrain_type{};

/// Contiguous memory that outlives the call: a vector, array or span, but not a temporary vector.
template <class R>
concept Array = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                std::ranges::borrowed_range<R> && Element<std::ranges::range_value_t<R>>;
template <class R>
concept MutableArray =
    Array<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
/// Several arrays, of one type or of several.
template <class R>
concept MutableArrays =
    std::ranges::forward_range<R> && MutableArray<std::ranges::range_reference_t<R>>;

/// The result of an operation whose counts differ between the ranks. It refers to memory of its
/// Work, and is valid as long as that Work.
template <Element T>
class Parts {
 public:
  explicit Parts(const dtrain_result& result) : result_(result) {}

  /// The parts of all ranks by rank, behind each other.
  std::span<const T> values() const { return {static_cast<const T*>(result_.data), result_.count}; }
  /// The number of elements of each part.
  std::span<const std::size_t> counts() const {
    return {result_.counts, static_cast<std::size_t>(result_.ranks)};
  }
  /// The part that came from this rank.
  std::span<const T> of_rank(int rank) const {
    std::size_t begin = 0;
    for (int before = 0; before < rank; ++before)
      begin += counts()[static_cast<std::size_t>(before)];
    return values().subspan(begin, counts()[static_cast<std::size_t>(rank)]);
  }

 private:
  dtrain_result result_;
};

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
  std::chrono::milliseconds timeout = {};              ///< 0: none
  double prescale = 1;                                 ///< of each input of a reduction; not 0
  double postscale = 1;                                ///< of each result of a reduction; not 0
  std::optional<std::vector<std::size_t>> shape = {};  ///< ranks compare it; none: they do not
  AverageOver average_over = AverageOver::all_ranks;   ///< only with Op::average
  Compression compression = Compression::none;         ///< only of reductions of float and double
  int priority = 0;                  ///< of a collective with a name: higher ones run first
  std::optional<void*> stream = {};  ///< of the buffers' device; null: the default one
};

/// How many contributions a step waits for, see dtrain_all_reduce_quorum.
struct Quorum {
  int ranks = 1;                            ///< so many are enough
  std::chrono::milliseconds deadline = {};  ///< after the first one; 0: none
  bool carry_late = false;                  ///< adds a late contribution to the rank's next one
  int behind_max = 1;                       ///< steps that may be decided before a rank's calls
};

/// The size of a matrix of which ranks give some rows.
struct MatrixSize {
  std::size_t rows = 0;
  std::size_t width = 1;  ///< elements of a row
};

namespace detail {

/// Converts milliseconds to an int for the C functions; values beyond it become the maximum.
inline int milliseconds_of(std::chrono::milliseconds duration) {
  constexpr auto most = std::numeric_limits<int>::max();
  return duration.count() > most ? most : static_cast<int>(duration.count());
}

/// In C, 0 stands for 1.
inline double factor_of(double factor) {
  if (factor != 0) return factor;
  throw Error(DTRAIN_ERROR_INPUT, "prescale and postscale must not be 0");
}

/// In C, null is no stream.
inline void* named(void* stream) {
  return stream == nullptr ? DTRAIN_DEFAULT_STREAM : stream;
}

inline dtrain_op_options c_options(const OpOptions& options) {
  dtrain_op_options c = {};
  c.struct_size = sizeof c;
  c.name = options.name.empty() ? nullptr : options.name.c_str();
  c.timeout_ms = milliseconds_of(options.timeout);
  c.prescale = options.prescale == 1 ? 0 : factor_of(options.prescale);
  c.postscale = options.postscale == 1 ? 0 : factor_of(options.postscale);
  c.average_over = static_cast<int>(options.average_over);
  c.compression = static_cast<int>(options.compression);
  c.priority = options.priority;
  if (options.stream) c.stream = named(*options.stream);
  if (!options.shape) return c;
  static constexpr std::size_t empty = 0;
  c.shape = options.shape->empty() ? &empty : options.shape->data();
  c.dims = static_cast<int>(options.shape->size());
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

/// The arrays of a call of several tensors.
class TensorList {
 public:
  template <MutableArrays Arrays>
  explicit TensorList(Arrays& arrays) {
    for (auto&& array : arrays)
      tensors_.push_back(writable(array));
    list_ = {sizeof list_, tensors_.data(), tensors_.size(), nullptr, nullptr};
  }
  TensorList(const TensorList&) = delete;
  TensorList& operator=(const TensorList&) = delete;
  const dtrain_tensor_list* get() const { return &list_; }

 private:
  std::vector<dtrain_buffers> tensors_;
  dtrain_tensor_list list_ = {};
};

template <Array Values>
dtrain_sparse_rows c_rows(std::span<const std::int64_t> indices, Values&& values, MatrixSize size) {
  if (std::ranges::size(values) != indices.size() * size.width)
    throw Error(DTRAIN_ERROR_INPUT, "all_reduce_sparse: give `width` values for each index");
  return {sizeof(dtrain_sparse_rows),
          indices.data(),
          std::ranges::data(values),
          indices.size(),
          size.rows,
          size.width,
          type_of<std::ranges::range_value_t<Values>>()};
}

inline dtrain_quorum c_quorum(const Quorum& quorum) {
  return {sizeof(dtrain_quorum), quorum.ranks, milliseconds_of(quorum.deadline),
          quorum.carry_late ? DTRAIN_CARRY_LATE : DTRAIN_DROP_LATE, quorum.behind_max};
}

}  // namespace detail

/// When an operation reached its states; see dtrain_times.
struct WorkTimes {
  using Time = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
  Time submitted;
  std::optional<Time> started = {};  ///< none: not yet, or never
  std::optional<Time> ended = {};    ///< none: not yet
};

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
  /// Later work of a device's stream begins behind it. Waits until its results are queued on the
  /// device. Null: the default one.
  void wait_on(void* stream) {
    dtrain_error error = detail::empty_error();
    if (dtrain_work_wait_stream(work_.get(), detail::named(stream), -1, &error) != DTRAIN_OK)
      throw Error(error);
  }
  /// Returns the result of an operation whose result the engine allocates, which must be done.
  /// Throws Error when it failed, and when its elements have another type.
  template <Element T>
  Parts<T> parts() const {
    dtrain_result result = {};
    result.struct_size = sizeof result;
    dtrain_error error = detail::empty_error();
    if (dtrain_work_result(work_.get(), &result, &error) != DTRAIN_OK) throw Error(error);
    if (result.type == detail::type_of<T>()) return Parts<T>(result);
    throw Error(DTRAIN_ERROR_INPUT, "parts: the elements of the result have dtrain_type " +
                                        std::to_string(result.type) + ", not " +
                                        std::to_string(detail::type_of<T>()));
  }
  /// True when the operation has succeeded or failed.
  bool done() const { return dtrain_work_done(work_.get()) != 0; }
  /// Returns when the operation was submitted, started and ended.
  WorkTimes times() const {
    dtrain_times c = {};
    c.struct_size = sizeof c;
    dtrain_error error = detail::empty_error();
    if (dtrain_work_times(work_.get(), &c, &error) != DTRAIN_OK) throw Error(error);
    const auto time = [](std::int64_t ns) { return WorkTimes::Time(std::chrono::nanoseconds(ns)); };
    WorkTimes times{time(c.submitted_ns)};
    if (c.started_ns != 0) times.started = time(c.started_ns);
    if (c.ended_ns != 0) times.ended = time(c.ended_ns);
    return times;
  }
  /// The handle for C functions; still owned by this.
  dtrain_work* get() const { return work_.get(); }

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

namespace detail {

inline std::optional<std::size_t> wait_any_ms(std::span<const Work> works, int timeout_ms) {
  std::vector<dtrain_work*> handles;
  for (const Work& work : works)
    handles.push_back(work.get());
  std::size_t index = 0;
  dtrain_error error = empty_error();
  const int status = dtrain_wait_any(handles.data(), handles.size(), timeout_ms, &index, &error);
  if (status == DTRAIN_PENDING) return std::nullopt;
  if (status != DTRAIN_OK) throw Error(error);
  return index;
}

}  // namespace detail

/// Waits until one of the operations is done, and returns the index of the first that is. The
/// wait() of that Work throws if the operation failed. Moved-from Works are left out. Throws Error
/// when all are.
inline std::size_t wait_any(std::span<const Work> works) {
  return detail::wait_any_ms(works, -1).value();
}
/// The same with a limit; returns nothing if `timeout` passed first.
inline std::optional<std::size_t> wait_any_for(std::span<const Work> works,
                                               std::chrono::milliseconds timeout) {
  return detail::wait_any_ms(works, timeout.count() < 0 ? 0 : detail::milliseconds_of(timeout));
}

/// The merged rows of an all_reduce_sparse, which it owns.
template <Element T>
class SparseResult {
 public:
  explicit SparseResult(Work work) : work_(std::move(work)) {
    dtrain_error error = detail::empty_error();
    result_.struct_size = sizeof result_;
    if (dtrain_work_sparse(work_.get(), &result_, &error) != DTRAIN_OK) throw Error(error);
  }

  /// Ascending, each once.
  std::span<const std::int64_t> indices() const { return {result_.indices, result_.count}; }
  /// The elements of these rows, row by row.
  std::span<const T> values() const {
    return {static_cast<const T*>(result_.values), result_.count * result_.width};
  }
  /// True when it has all rows of the matrix.
  bool dense() const { return result_.dense != 0; }

 private:
  Work work_;
  dtrain_sparse_result result_ = {};
};

/// An array in memory of dtrain_alloc, which it owns. Movable. Its Context must outlive it, and be
/// finalized after it.
template <Element T>
class Buffer {
 public:
  using value_type = T;  // NOLINT(readability-identifier-naming): the name of the standard library

  /// Allocates `count` zeros. Throws Error when memory is short.
  Buffer(dtrain_context* context, std::size_t count) : memory_(nullptr, Free{context}) {
    dtrain_error error = detail::empty_error();
    void* memory = nullptr;
    const std::size_t fitting = std::numeric_limits<std::size_t>::max() / sizeof(T);
    const std::size_t bytes =
        count > fitting ? std::numeric_limits<std::size_t>::max() : count * sizeof(T);
    if (dtrain_alloc(context, bytes, &memory, &error) != DTRAIN_OK) throw Error(error);
    memory_.reset(static_cast<T*>(memory));
    size_ = count;
  }

  T* data() const { return memory_.get(); }
  std::size_t size() const { return memory_ ? size_ : 0; }
  T* begin() const { return data(); }
  T* end() const { return data() + size(); }
  T& operator[](std::size_t i) const { return data()[i]; }

 private:
  struct Free {
    dtrain_context* context = nullptr;
    void operator()(T* memory) const { dtrain_free(context, memory, nullptr); }
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t size_ = 0;
};

/// Positions begin to end - 1.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// Returns part `index` of `count` consecutive parts, whose sizes differ by one at most. A part may
/// be empty; all parts together are the whole range.
inline Range shard(Range whole, std::size_t index, std::size_t count) {
  const std::size_t each = whole.size() / count;
  const std::size_t more = whole.size() % count;
  const std::size_t begin = whole.begin + each * index + std::min(index, more);
  return {begin, begin + each + (index < more ? 1 : 0)};
}

/// Returns every `count`-th name, from `index` on.
inline std::vector<std::string> shard_files(std::span<const std::string> files, std::size_t index,
                                            std::size_t count) {
  std::vector<std::string> ours;
  for (std::size_t i = index; i < files.size(); i += count)
    ours.push_back(files[i]);
  return ours;
}

}  // namespace dtrain
