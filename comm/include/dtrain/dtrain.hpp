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

#include "dtrain_store.hpp"
#include "dtrain_types.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <vector>

namespace dtrain {

/// All ranks of a job, seen from one of them. Movable; leaves the job when destroyed. A
/// collective's array has the same size and type on every rank, unless its comment has another
/// rule. Results have the same bits on every rank.
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

  /// Returns the group of all ranks with the same color, ordered by key, then by rank. Returns none
  /// if color is negative. A collective of this context. See dtrain_split for groups.
  std::optional<Context> split(int color, int key = 0, const OpOptions& options = {}) {
    return make_group(options,
                      [&](const dtrain_op_options* c, dtrain_context** group, dtrain_error* error) {
                        return dtrain_split(get(), {color, key}, group, c, error);
                      });
  }
  /// Returns the group of the ranks in the list, in its order. None for a rank that is not in it.
  /// Only the ranks in the list need to call it, and give the same list. See dtrain_group.
  std::optional<Context> group(std::span<const int> ranks, const OpOptions& options = {}) {
    return make_group(options, [&](const dtrain_op_options* c, dtrain_context** group,
                                   dtrain_error* error) {
      return dtrain_group(get(), {ranks.data(), static_cast<int>(ranks.size())}, group, c, error);
    });
  }

  /// The keys and values that all ranks share.
  Store store() const { return Store(get()); }

  /// Returns `count` zeros in memory that the ranks of a host read in place, see dtrain_memory.h.
  template <Element T>
  Buffer<T> alloc(std::size_t count) const {
    return Buffer<T>(get(), count);
  }

  /// values[i] = op over all ranks of values[i].
  template <MutableArray R>
  void all_reduce(R&& values, Op op = Op::sum, const OpOptions& options = {}) {
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_reduce(get(), detail::writable(values), detail::number_of(op), c, error);
    });
  }
  /// Returns op over all ranks of value.
  template <Element T>
  [[nodiscard]] T all_reduce(T value, Op op = Op::sum, const OpOptions& options = {}) {
    all_reduce(std::span(&value, 1), op, options);
    return value;
  }
  template <MutableArray R>
  Work all_reduce_async(R&& values, Op op = Op::sum, const OpOptions& options = {}) {
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_reduce_async(get(), detail::writable(values), detail::number_of(op), c,
                                     error);
    });
  }

  /// all_reduce of each of several arrays, at once; see dtrain_all_reduce_list.
  template <MutableArrays Arrays>
  void all_reduce_list(Arrays&& arrays, Op op = Op::sum, const OpOptions& options = {}) {
    const detail::TensorList tensors(arrays);
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_reduce_list(get(), tensors.get(), detail::number_of(op), c, error);
    });
  }
  template <MutableArrays Arrays>
  Work all_reduce_list_async(Arrays&& arrays, Op op = Op::sum, const OpOptions& options = {}) {
    const detail::TensorList tensors(arrays);
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_reduce_list_async(get(), tensors.get(), detail::number_of(op), c, error);
    });
  }

  /// As all_reduce_list, but without waiting for slow ranks; see dtrain_all_reduce_quorum. The
  /// Work, which is done, has the ranks, std::int32_t, whose contributions the step has.
  template <MutableArrays Arrays>
  Work all_reduce_quorum(Arrays&& arrays, const Quorum& quorum, Op op = Op::sum,
                         const OpOptions& options = {}) {
    const detail::TensorList tensors(arrays);
    const dtrain_quorum q = detail::c_quorum(quorum);
    return run_with_result(
        options, [&](dtrain_work** work, const dtrain_op_options* c, dtrain_error* error) {
          return dtrain_all_reduce_quorum(get(), tensors.get(), detail::number_of(op), &q, work, c,
                                          error);
        });
  }
  template <MutableArrays Arrays>
  Work all_reduce_quorum_async(Arrays&& arrays, const Quorum& quorum, Op op = Op::sum,
                               const OpOptions& options = {}) {
    const detail::TensorList tensors(arrays);
    const dtrain_quorum q = detail::c_quorum(quorum);
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_reduce_quorum_async(get(), tensors.get(), detail::number_of(op), &q, c,
                                            error);
    });
  }

  /// Reduces rows of a matrix that may differ between the ranks; see dtrain_all_reduce_sparse.
  template <Array Values>
  auto all_reduce_sparse(std::span<const std::int64_t> indices, Values&& values, MatrixSize size,
                         Op op = Op::sum, const OpOptions& options = {}) {
    const dtrain_sparse_rows rows = detail::c_rows(indices, values, size);
    return SparseResult<std::ranges::range_value_t<Values>>(run_with_result(
        options, [&](dtrain_work** work, const dtrain_op_options* c, dtrain_error* error) {
          return dtrain_all_reduce_sparse(get(), &rows, detail::number_of(op), work, c, error);
        }));
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

  /// output = the inputs of all ranks by rank. It has size() times as many elements as input.
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
      return dtrain_reduce_scatter(get(), buffers, detail::number_of(op), c, error);
    });
  }
  template <Array In, MutableArray Out>
  Work reduce_scatter_async(In&& input, Out&& output, Op op = Op::sum,
                            const OpOptions& options = {}) {
    const dtrain_buffers buffers = scattered(input, output);
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_reduce_scatter_async(get(), buffers, detail::number_of(op), c, error);
    });
  }

  /// values of rank `root` = op over all ranks of values. The values of the others do not change.
  template <MutableArray R>
  void reduce(R&& values, int root, Op op = Op::sum, const OpOptions& options = {}) {
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_reduce(get(), detail::writable(values), detail::number_of(op), root, c, error);
    });
  }
  template <MutableArray R>
  Work reduce_async(R&& values, int root, Op op = Op::sum, const OpOptions& options = {}) {
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_reduce_async(get(), detail::writable(values), detail::number_of(op), root, c,
                                 error);
    });
  }

  /// output of rank `root` = the inputs of all ranks by rank. It has size() times as many elements
  /// as input. The output of the others is not used and may be empty.
  template <Array In, MutableArray Out>
  void gather(In&& input, Out&& output, int root, const OpOptions& options = {}) {
    const dtrain_buffers buffers = gathered_at(root, input, output);
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_gather(get(), buffers, root, c, error);
    });
  }
  template <Array In, MutableArray Out>
  Work gather_async(In&& input, Out&& output, int root, const OpOptions& options = {}) {
    const dtrain_buffers buffers = gathered_at(root, input, output);
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_gather_async(get(), buffers, root, c, error);
    });
  }

  /// output = part rank() of the input of rank `root`, which has size() times as many elements. The
  /// input of the others is not used and may be empty.
  template <Array In, MutableArray Out>
  void scatter(In&& input, Out&& output, int root, const OpOptions& options = {}) {
    const dtrain_buffers buffers = scattered_from(root, input, output);
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_scatter(get(), buffers, root, c, error);
    });
  }
  template <Array In, MutableArray Out>
  Work scatter_async(In&& input, Out&& output, int root, const OpOptions& options = {}) {
    const dtrain_buffers buffers = scattered_from(root, input, output);
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_scatter_async(get(), buffers, root, c, error);
    });
  }

  /// Part r of input goes to rank r, part r of output comes from there. Both have size() parts.
  template <Array In, MutableArray Out>
  void all_to_all(In&& input, Out&& output, const OpOptions& options = {}) {
    const dtrain_buffers buffers = exchanged(input, output);
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_to_all(get(), buffers, c, error);
    });
  }
  template <Array In, MutableArray Out>
  Work all_to_all_async(In&& input, Out&& output, const OpOptions& options = {}) {
    const dtrain_buffers buffers = exchanged(input, output);
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_to_all_async(get(), buffers, c, error);
    });
  }

  /// Sends counts[r] elements of input to rank r. The Work, which is done, has the parts() that all
  /// ranks have sent to this one.
  template <Array In>
  Work all_to_all_v(In&& input, std::span<const std::size_t> counts,
                    const OpOptions& options = {}) {
    const dtrain_split_buffers buffers = split(input, counts);
    return run_with_result(
        options, [&](dtrain_work** work, const dtrain_op_options* c, dtrain_error* error) {
          return dtrain_all_to_all_v(get(), &buffers, work, c, error);
        });
  }
  template <Array In>
  Work all_to_all_v_async(In&& input, std::span<const std::size_t> counts,
                          const OpOptions& options = {}) {
    const dtrain_split_buffers buffers = split(input, counts);
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_to_all_v_async(get(), &buffers, c, error);
    });
  }

  /// The Work, which is done, has part rank() of the reduction of the inputs. Part r has counts[r]
  /// elements; all ranks give the same counts.
  template <Array In>
  Work reduce_scatter_v(In&& input, std::span<const std::size_t> counts, Op op = Op::sum,
                        const OpOptions& options = {}) {
    dtrain_split_buffers buffers = split(input, counts);
    buffers.op = detail::number_of(op);
    return run_with_result(
        options, [&](dtrain_work** work, const dtrain_op_options* c, dtrain_error* error) {
          return dtrain_reduce_scatter_v(get(), &buffers, work, c, error);
        });
  }
  template <Array In>
  Work reduce_scatter_v_async(In&& input, std::span<const std::size_t> counts, Op op = Op::sum,
                              const OpOptions& options = {}) {
    dtrain_split_buffers buffers = split(input, counts);
    buffers.op = detail::number_of(op);
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_reduce_scatter_v_async(get(), &buffers, c, error);
    });
  }

  /// The Work, which is done, has the inputs of all ranks as its parts(). Sizes may differ.
  template <Array In>
  Work all_gather_v(In&& input, const OpOptions& options = {}) {
    return run_with_result(
        options, [&](dtrain_work** work, const dtrain_op_options* c, dtrain_error* error) {
          return dtrain_all_gather_v(get(), detail::read_only(input), work, c, error);
        });
  }
  template <Array In>
  Work all_gather_v_async(In&& input, const OpOptions& options = {}) {
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_all_gather_v_async(get(), detail::read_only(input), c, error);
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

  /// Ends this rank's data for named collectives; see dtrain_join. Returns the last rank to join.
  int join(const OpOptions& options = {}) {
    int last = -1;
    run(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_join(get(), &last, c, error);
    });
    return last;
  }
  /// Its parts() have one std::int32_t, the rank that joined last.
  Work join_async(const OpOptions& options = {}) {
    return start(options, [&](const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_join_async(get(), c, error);
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
    return group == nullptr ? std::nullopt : std::optional<Context>(group);
  }

  template <class Start>
  static Work start(const OpOptions& options, const Start& start_work) {
    const dtrain_op_options c = detail::c_options(options);
    dtrain_error error = detail::empty_error();
    dtrain_work* work = start_work(&c, &error);
    if (work == nullptr) throw Error(error);
    return Work(work);
  }
  template <class Call>
  static Work run_with_result(const OpOptions& options, const Call& call) {
    dtrain_work* work = nullptr;
    run(options,
        [&](const dtrain_op_options* c, dtrain_error* error) { return call(&work, c, error); });
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
  template <class In, class Out>
  dtrain_buffers gathered_at(int root, In& input, Out& output) const {
    dtrain_buffers buffers = pair(input, output);
    buffers.count = std::ranges::size(input);
    if (rank() == root) require_parts("gather", std::ranges::size(output), buffers.count);
    return buffers;
  }
  template <class In, class Out>
  dtrain_buffers scattered_from(int root, In& input, Out& output) const {
    dtrain_buffers buffers = pair(input, output);
    buffers.count = std::ranges::size(output);
    if (rank() == root) require_parts("scatter", std::ranges::size(input), buffers.count);
    return buffers;
  }
  template <class In, class Out>
  dtrain_buffers exchanged(In& input, Out& output) const {
    dtrain_buffers buffers = pair(input, output);
    const auto ranks = static_cast<std::size_t>(get() == nullptr ? 1 : size());
    buffers.count = std::ranges::size(output) / ranks;
    require_parts("all_to_all", std::ranges::size(output), buffers.count);
    require_parts("all_to_all", std::ranges::size(input), buffers.count);
    return buffers;
  }
  template <class In>
  dtrain_split_buffers split(In& input, std::span<const std::size_t> counts) const {
    const std::size_t elements = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    const bool fits =
        elements == std::ranges::size(input) && counts.size() == static_cast<std::size_t>(size());
    if (get() != nullptr && !fits) {
      throw Error(DTRAIN_ERROR_INPUT,
                  "give one count for each rank, which add up to the input; got " +
                      std::to_string(counts.size()) + " counts of " + std::to_string(elements));
    }
    return {sizeof(dtrain_split_buffers), std::ranges::data(input), counts.data(),
            detail::type_of<std::ranges::range_value_t<In>>(), DTRAIN_SUM};
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

}  // namespace dtrain
