#pragma once

// A training loop with callbacks, as Keras has: fit(model, data, epochs, callbacks). The callbacks
// do what distributed training needs beside the gradients. These are equal weights at the start,
// averaged metrics, a learning rate that warms up, and checkpoints by one process.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <dtrain/dtrain_strategy.hpp>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace keras_like_fit {

inline constexpr std::size_t point_count = 2000;
inline constexpr std::size_t batch_per_replica = 20;
inline constexpr std::size_t feature_count = 5;
inline constexpr double learning_rate = 0.5;  // of one replica

struct Point {
  std::array<double, feature_count> features{};
  bool inside = false;
};

/// Returns the same points on every process.
inline std::vector<Point> make_points() {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> coordinate(-1, 1);
  std::vector<Point> points(point_count);
  for (Point& point : points) {
    const double x = coordinate(random);
    const double y = coordinate(random);
    point = {{1, x, y, x * x, y * y}, x * x + y * y < 0.6};
  }
  return points;
}

inline std::vector<double> random_weights(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> weights(feature_count);
  for (double& weight : weights)
    weight = normal(random);
  return weights;
}

/// The metrics of an epoch, as sums over the examples of the replicas that they are of.
struct Logs {
  double loss_sum = 0;
  double right = 0;
  double examples = 0;
  double loss() const { return loss_sum / examples; }
  double accuracy() const { return right / examples; }
};

/// Logistic regression.
struct Model {
  explicit Model(dtrain::Strategy& on)
      : strategy(on),
        weights(on.zeros<double>("weights", feature_count)),
        epochs_done(on.zeros<int>("epochs_done", 1)) {}

  dtrain::Strategy& strategy;
  std::vector<double> own_weights = {};  ///< of this process; empty: those of a checkpoint count
  dtrain::Variable<double> weights;
  dtrain::Variable<int> epochs_done;
  double rate = learning_rate;
};

/// Called by fit(), on every process.
class Callback {
 public:
  Callback() = default;
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  virtual ~Callback() = default;
  virtual void on_train_begin(Model& /*model*/) {}
  /// `epoch` has a fraction: the part of it that is done.
  virtual void on_batch_begin(Model& /*model*/, double /*epoch*/) {}
  virtual void on_epoch_end(Model& /*model*/, std::size_t /*epoch*/, Logs& /*logs*/) {}
};
using Callbacks = std::vector<std::unique_ptr<Callback>>;

/// All replicas begin with the weights of the chief, whatever weights the other processes made.
class BroadcastAtStart final : public Callback {
 public:
  void on_train_begin(Model& model) override {
    if (!model.own_weights.empty()) model.weights.write(model.own_weights);
  }
};

/// Replaces the metrics of this process by those of all replicas. The callbacks after it see them.
class MetricAverage final : public Callback {
 public:
  void on_epoch_end(Model& model, std::size_t /*epoch*/, Logs& logs) override {
    const std::vector<double> ours = {logs.loss_sum, logs.right, logs.examples};
    std::vector<double> parts = {0, 0, 0};
    // The first replica brings the sums of its process, and the others bring zeros.
    std::vector<std::vector<double>> by_replica(model.strategy.local_replicas(), parts);
    by_replica[0] = ours;
    const std::vector<double> all =
        model.strategy.reduce(dtrain::Op::sum, dtrain::PerReplica(std::move(by_replica)));
    logs = {all[0], all[1], all[2]};
  }
};

/// A batch of N replicas allows a rate N times as high, but not at first (Goyal et al., 2017). The
/// rate rises from that of one replica during the first epochs.
class LearningRateWarmup final : public Callback {
 public:
  explicit LearningRateWarmup(double warm_epochs) : warm_epochs_(warm_epochs) {}
  void on_batch_begin(Model& model, double epoch) override {
    const double full = model.strategy.scaled_learning_rate(learning_rate);
    const double done = std::min(1.0, epoch / warm_epochs_);
    model.rate = learning_rate + (full - learning_rate) * done;
  }

 private:
  double warm_epochs_;
};

/// Writes all variables after each epoch; the chief has the file.
class Checkpoint final : public Callback {
 public:
  explicit Checkpoint(std::string file) : file_(std::move(file)) {}
  void on_epoch_end(Model& model, std::size_t epoch, Logs& /*logs*/) override {
    model.epochs_done.write(std::array<int, 1>{static_cast<int>(epoch)});
    model.strategy.save(file_);
  }

 private:
  std::string file_;
};

class PrintEpoch final : public Callback {
 public:
  void on_epoch_end(Model& model, std::size_t epoch, Logs& logs) override {
    if (!model.strategy.is_chief()) return;
    std::printf("epoch %2zu   loss %.4f   accuracy %5.1f %%   rate %.2f\n", epoch, logs.loss(),
                100 * logs.accuracy(), model.rate);
  }
};

struct Epochs {
  std::size_t first = 0;
  std::size_t end = 10;
};

/// Makes a replica's part of one step, and returns its metrics.
inline Logs train_part(Model& model, dtrain::Replica& replica, std::span<const Point> batch) {
  const std::span<const double> weights = replica.data(model.weights);
  std::vector<double> gradient(feature_count);
  Logs logs;
  const dtrain::Range ours = replica.shard({0, batch.size()});
  for (const Point& point : batch.subspan(ours.begin, ours.size())) {
    double score = 0;
    for (std::size_t i = 0; i < feature_count; i++)
      score += weights[i] * point.features[i];
    const double inside = 1 / (1 + std::exp(-score));
    logs.loss_sum -= std::log(point.inside ? inside : 1 - inside);
    logs.right += (inside > 0.5) == point.inside ? 1 : 0;
    logs.examples += 1;
    for (std::size_t i = 0; i < feature_count; i++)
      gradient[i] += (inside - (point.inside ? 1 : 0)) * point.features[i];
  }
  const double step = model.rate / static_cast<double>(batch.size());
  replica.apply<double>({{model.weights, gradient}}, dtrain::Op::sum,
                        [&](std::size_t, std::span<double> values, std::span<const double> sum) {
                          for (std::size_t i = 0; i < values.size(); i++)
                            values[i] -= step * sum[i];
                        });
  return logs;
}

inline void fit(Model& model, std::span<const Point> points, Epochs epochs,
                const Callbacks& callbacks) {
  for (const auto& callback : callbacks)
    callback->on_train_begin(model);
  const std::size_t batch_size = model.strategy.global_batch(batch_per_replica);
  for (std::size_t epoch = epochs.first; epoch < epochs.end; epoch++) {
    Logs logs;
    for (std::size_t begin = 0; begin < points.size(); begin += batch_size) {
      const auto batch = points.subspan(begin, std::min(batch_size, points.size() - begin));
      const double part = static_cast<double>(begin) / static_cast<double>(points.size());
      for (const auto& callback : callbacks)
        callback->on_batch_begin(model, static_cast<double>(epoch) + part);
      const auto parts = model.strategy.run(
          [&](dtrain::Replica& replica) { return train_part(model, replica, batch); });
      for (const Logs& one : parts) {
        logs.loss_sum += one.loss_sum;
        logs.right += one.right;
        logs.examples += one.examples;
      }
    }
    for (const auto& callback : callbacks)
      callback->on_epoch_end(model, epoch + 1, logs);
  }
}

}  // namespace keras_like_fit
