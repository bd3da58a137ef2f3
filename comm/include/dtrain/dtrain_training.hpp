#pragma once

// The parts of training loops around the steps of a strategy. These are evaluation, prediction,
// moving averages, and batches that reach the device ahead of their step. Programs include
// dtrain_strategy.hpp.

#include "dtrain_strategy.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dtrain {

/// Calls `body(part)` for consecutive parts of the range, of at most `size` positions.
template <class Body>
void in_batches(Range whole, std::size_t size, const Body& body) {
  size = std::max<std::size_t>(size, 1);
  for (std::size_t at = whole.begin; at < whole.end; at += std::min(size, whole.end - at))
    body(Range{at, at + std::min(size, whole.end - at)});
}

/// Returns the part of the examples that a replica reads when all replicas over which a strategy
/// reduces share them. Under parameter_server, a worker reduces over its own replicas alone.
inline Range reduced_part(const Strategy& strategy, const Replica& replica, std::size_t examples) {
  const dtrain_context* const workers = dtrain_strategy_context(strategy.get());
  const std::size_t local = strategy.local_replicas();
  const auto rank = static_cast<std::size_t>(dtrain_rank(workers));
  const auto size = static_cast<std::size_t>(dtrain_size(workers));
  return shard({0, examples}, rank * local + replica.local_index(), size * local);
}

/// Returns means over all examples, such as that of the loss. `sums(replica, part)` returns the
/// sums over the examples of a part, which has `batch` of them at most. It returns a vector of
/// equally many doubles for each part. Smaller parts weigh as many examples as they have. A
/// collective between steps. Under parameter_server, each worker evaluates all examples.
template <class Sums>
std::vector<double> evaluate(Strategy& strategy, std::size_t examples, std::size_t batch,
                             const Sums& sums) {
  const auto parts = strategy.run([&](Replica& replica) {
    std::vector<double> all;
    in_batches(reduced_part(strategy, replica, examples), batch, [&](Range part) {
      const std::vector<double> ours = sums(replica, part);
      if (all.empty()) all.resize(ours.size());
      if (all.size() != ours.size())
        throw Error(DTRAIN_ERROR_INPUT, "evaluate: the parts differ in the number of sums");
      std::transform(all.begin(), all.end(), ours.begin(), all.begin(), std::plus<>());
    });
    return all;
  });
  // A replica without examples does not know the number of sums.
  std::vector<std::uint64_t> sizes;
  for (const std::vector<double>& part : parts)
    sizes.push_back(part.size());
  const std::uint64_t size = strategy.reduce(Op::max, PerReplica<std::uint64_t>(sizes));
  std::vector<std::vector<double>> padded(parts.begin(), parts.end());
  for (std::vector<double>& part : padded) {
    if (!part.empty() && part.size() != size)
      throw Error(DTRAIN_ERROR_INPUT, "evaluate: the replicas differ in the number of sums");
    part.resize(static_cast<std::size_t>(size));
  }
  if (size == 0) return {};
  std::vector<double> means =
      strategy.reduce(Op::sum, PerReplica<std::vector<double>>(std::move(padded)));
  for (double& mean : means)
    mean /= static_cast<double>(examples);
  return means;
}

/// Returns the outputs of all examples, in their order. `outputs(replica, part)` returns a vector
/// of any size for a part, which has `batch` examples at most. A collective between steps. Under
/// parameter_server, each worker predicts for all examples.
template <Element T, class Outputs>
std::vector<T> predict(Strategy& strategy, std::size_t examples, std::size_t batch,
                       const Outputs& outputs) {
  return strategy.gather(strategy.run([&](Replica& replica) {
    std::vector<T> all;
    in_batches(reduced_part(strategy, replica, examples), batch, [&](Range part) {
      const std::vector<T> ours = outputs(replica, part);
      all.insert(all.end(), ours.begin(), ours.end());
    });
    return all;
  }));
}

/// The exponential moving average of a variable, as TensorFlow's ExponentialMovingAverage. After
/// each step, average = decay * average + (1 - decay) * value. It is a variable of its own,
/// "NAME/average", which checkpoints have.
template <std::floating_point T>
class MovingAverage {
 public:
  struct Options {
    double decay = 0.999;
    /// Limits the decay of update n to (1 + n) / (10 + n). The average then follows the values
    /// sooner.
    bool warms_up = false;
    /// Copies values through memory of the host, and gives all workers those of rank 0. Where a
    /// device is no CPU, this is necessary and always done.
    bool through_host = false;
  };

  /// Makes the average with the present value. A collective. The strategy must outlive it.
  MovingAverage(Strategy& strategy, const std::string& name, const Variable<T>& variable,
                const Options& options)
      : strategy_(strategy),
        options_(options),
        variable_(variable),
        average_(strategy.variable<T>(name + "/average", std::span<const T>(variable.read()),
                                      {.slot = true})),
        updates_(strategy.zeros<std::uint64_t>(name + "/average_updates", 1, {.slot = true})) {
    for (std::size_t i = 0; i < strategy.local_replicas(); ++i)
      options_.through_host = options_.through_host || !strategy.device(i).starts_with("cpu");
    if (!options_.through_host)
      copies_ = strategy.run([&](Replica& replica) { return replica.data(average_).data(); });
  }
  MovingAverage(Strategy& strategy, const std::string& name, const Variable<T>& variable)
      : MovingAverage(strategy, name, variable, Options()) {}

  /// Called between steps, by all workers.
  void update() {
    double decay = options_.decay;
    std::uint64_t count = 0;
    if (options_.warms_up) {
      count = updates_.read()[0];
      decay = std::min(decay, static_cast<double>(1 + count) / static_cast<double>(10 + count));
    }
    if (options_.through_host) {
      std::vector<T> mean = average_.read();
      const std::vector<T> value = variable_.read();
      mix(mean, value, decay);
      average_.write(mean);
    } else {
      update_copies(decay);
    }
    if (options_.warms_up) updates_.write(std::vector<std::uint64_t>{count + 1});
  }
  std::vector<T> read() const { return average_.read(); }
  const Variable<T>& variable() const { return average_; }

 private:
  static void mix(std::span<T> mean, std::span<const T> value, double decay) {
    const T rest = static_cast<T>(1 - decay);
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] -= rest * (mean[i] - value[i]);
  }
  /// Each copy is changed once: replicas that share one leave it to the first of them.
  void update_copies(double decay) {
    strategy_.run([&](Replica& replica) {
      const std::size_t own = replica.local_index();
      const auto first = std::find(copies_.begin(), copies_.end(), copies_[own]);
      if (static_cast<std::size_t>(first - copies_.begin()) != own) return;
      mix(replica.data(average_), std::span<const T>(replica.data(variable_)), decay);
    });
  }

  Strategy& strategy_;
  Options options_;
  Variable<T> variable_;
  Variable<T> average_;
  Variable<std::uint64_t> updates_;
  PerReplica<T*> copies_{{}};  ///< the memory of the average that each replica uses
};

/// Batches in memory of a replica's device, which a thread fills ahead; see dtrain_prefetch_create.
template <Element T>
class Prefetch {
 public:
  /// Writes a batch into the span, and returns its elements; 0: the data has ended. Called by one
  /// thread of the library.
  using Fill = std::function<std::size_t(std::span<T>)>;
  struct Options {
    std::size_t local_replica = 0;
    std::size_t count = 0;  ///< elements of a batch, at most
    std::size_t depth = 2;  ///< batches that are filled ahead
  };

  /// The strategy must outlive it.
  Prefetch(Strategy& strategy, const Options& options, Fill fill)
      : filling_(std::make_unique<Filling>()) {
    filling_->fill = std::move(fill);
    filling_->count = options.count;
    dtrain_prefetch_options c = {};
    c.struct_size = sizeof c;
    c.local_replica = static_cast<int>(options.local_replica);
    c.bytes = options.count * sizeof(T);
    c.depth = options.depth;
    c.fill = [](void* into, void* filling) { return static_cast<Filling*>(filling)->call(into); };
    c.argument = filling_.get();
    dtrain_error error = detail::empty_error();
    prefetch_.reset(dtrain_prefetch_create(strategy.get(), &c, &error));
    if (!prefetch_) throw Error(error);
  }

  /// Returns the next batch, in memory of the device, valid until the next call; empty: the data
  /// has ended. Throws what the function that fills has thrown. One thread at a time, also in a
  /// step.
  std::span<const T> next() {
    const void* data = nullptr;
    std::size_t bytes = 0;
    dtrain_error error = detail::empty_error();
    const int status = dtrain_prefetch_next(prefetch_.get(), &data, &bytes, &error);
    if (status == DTRAIN_OK) return {static_cast<const T*>(data), bytes / sizeof(T)};
    if (filling_->thrown) std::rethrow_exception(filling_->thrown);
    throw Error(error);
  }

 private:
  struct Filling {
    Fill fill = {};
    std::size_t count = 0;
    std::exception_ptr thrown = {};  ///< written before the failure that next() reports

    std::size_t call(void* into) {
      try {
        return fill(std::span<T>(static_cast<T*>(into), count)) * sizeof(T);
      } catch (...) {
        thrown = std::current_exception();
        return DTRAIN_FILL_FAILED;
      }
    }
  };
  struct Free {
    void operator()(dtrain_prefetch* prefetch) const { dtrain_prefetch_free(prefetch); }
  };

  std::unique_ptr<Filling> filling_;
  std::unique_ptr<dtrain_prefetch, Free> prefetch_ = {};
};

}  // namespace dtrain
