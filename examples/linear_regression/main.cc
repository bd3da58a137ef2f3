// Finds the line y = 2 x + 10 in noisy points by stochastic gradient descent.
// Runs alone, or on many ranks: `dtrain run -np 4 linear_regression`.
// Each rank has its own part of the points. The steps are the same for any number of ranks.
// With --cluster_spec, parameter servers hold the line: see train_with_parameter_servers().

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <dtrain/dtrain.hpp>
#include <dtrain/dtrain_ps.hpp>
#include <exception>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t point_count = 4096;
constexpr std::size_t batch_size = 64;  // of all processes together
constexpr int epochs = 10;
constexpr double learning_rate = 0.02;

struct Point {
  double x = 0;
  double y = 0;
};

/// Returns the same point for an index in every process.
Point make_point(std::size_t index) {
  std::mt19937_64 random(index);
  const double x = std::uniform_real_distribution<double>(-1, 1)(random);
  const double noise = std::normal_distribution<double>(0, 0.1)(random);
  return {x, 2 * x + 10 + noise};
}

/// A process's part of each batch: every size-th of its points.
using Shard = std::vector<std::vector<Point>>;

Shard make_shard(std::size_t rank, std::size_t size) {
  Shard shard(point_count / batch_size);
  for (std::size_t index = rank; index < point_count; index += size)
    shard[index / batch_size].push_back(make_point(index));
  return shard;
}

struct Line {
  double w = 0;
  double b = 0;
};

/// The mean squared error of a batch, and its derivatives by w and b.
struct Gradient {
  double w = 0;
  double b = 0;
  double loss = 0;
};

/// Returns the mean over a batch. Sums over `part`, this rank's points of it, then over all ranks.
/// Each number has an operation of its own, which its name matches. dtrain sends them together.
Gradient batch_gradient(dtrain::Context& world, std::span<const Point> part, Line line) {
  std::array<double, 3> sums = {};
  for (const Point& point : part) {
    const double error = line.w * point.x + line.b - point.y;
    sums[0] += 2 * error * point.x;
    sums[1] += 2 * error;
    sums[2] += error * error;
  }
  constexpr std::array names = {"gradient of w", "gradient of b", "loss"};
  std::vector<dtrain::Work> works;
  for (std::size_t i = 0; i < sums.size(); i++)
    works.push_back(world.all_reduce_async(std::span(sums).subspan(i, 1), dtrain::Op::sum,
                                           {.name = names.at(i)}));
  for (dtrain::Work& work : works)
    work.wait();
  for (double& sum : sums)
    sum /= batch_size;
  return {.w = sums[0], .b = sums[1], .loss = sums[2]};
}

void train() {
  dtrain::Context world = dtrain::init();
  const Shard shard =
      make_shard(static_cast<std::size_t>(world.rank()), static_cast<std::size_t>(world.size()));

  // Rank 0 chooses the initial line and broadcasts it to all.
  std::array<double, 2> start = {};
  if (world.rank() == 0) {
    std::mt19937_64 random(point_count);
    for (double& value : start)
      value = std::uniform_real_distribution<double>(-1, 1)(random);
  }
  world.broadcast(start, 0);
  Line line = {.w = start[0], .b = start[1]};

  for (int epoch = 1; epoch <= epochs; ++epoch) {
    double loss = 0;
    for (const std::vector<Point>& part : shard) {
      const Gradient gradient = batch_gradient(world, part, line);
      line.w -= learning_rate * gradient.w;
      line.b -= learning_rate * gradient.b;
      loss += gradient.loss / static_cast<double>(shard.size());
    }
    if (world.rank() == 0) std::printf("epoch %2d   loss %.6f\n", epoch, loss);
  }
  if (world.rank() == 0) std::printf("y = %.3f x + %.3f\n", line.w, line.b);
}

/// A task of a cluster, by the flags of TensorFlow's classic programs.
struct ClusterTask {
  std::string cluster_spec;  ///< "worker|host:port;host:port,ps|host:port"
  std::string job_name;      ///< "worker" or "ps"
  int task_id = 0;
  bool sync = false;  ///< all workers push in each step, instead of each at its own pace
};

/// Returns the means over the points of `2 (w x + b - y) x` and `2 (w x + b - y)`.
Line gradient_of(std::span<const Point> points, Line line) {
  Line sums;
  for (const Point& point : points) {
    const double error = line.w * point.x + line.b - point.y;
    sums.w += 2 * error * point.x;
    sums.b += 2 * error;
  }
  const auto count = static_cast<double>(points.size());
  return {.w = sums.w / count, .b = sums.b / count};
}

void work(const dtrain::ClusterSpec& cluster, const ClusterTask& task) {
  dtrain::ParameterServers ps;
  std::mt19937_64 random(point_count);
  std::uniform_real_distribution<double> start(-1, 1);
  Line line = {.w = start(random), .b = start(random)};
  // Worker 0's values count.
  dtrain::PsVariable w = {.name = "w", .type = DTRAIN_FLOAT64, .initial = &line.w};
  dtrain::PsVariable b = {.name = "b", .type = DTRAIN_FLOAT64, .initial = &line.b};
  w.learning_rate = b.learning_rate = learning_rate;
  ps.declare({w, b});
  if (task.task_id == 0 && task.sync) ps.set_mode(dtrain::PsMode::sync);
  ps.barrier();  // so that all push in that mode

  Line gradient;
  const std::vector<dtrain::PsArray> arrays = {
      dtrain::PsArray::push_pull<double>("w", std::span(&gradient.w, 1), std::span(&line.w, 1)),
      dtrain::PsArray::push_pull<double>("b", std::span(&gradient.b, 1), std::span(&line.b, 1))};
  ps.pull(arrays);
  const Shard shard = make_shard(static_cast<std::size_t>(task.task_id),
                                 static_cast<std::size_t>(cluster.tasks("worker")));
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    for (const std::vector<Point>& part : shard) {
      gradient = gradient_of(part, line);
      ps.push_pull(arrays);
    }
  }

  ps.barrier();  // the other workers' last pushes belong to the result
  const auto steps = static_cast<long long>(ps.pull(arrays));
  if (task.task_id == 0) std::printf("y = %.2f x + %.2f after %lld steps\n", line.w, line.b, steps);
}

/// Finds the line with parameter servers. The tasks of the job ps hold w and b, and each worker
/// pushes the gradients of its points. Throws dtrain::Error.
void train_with_parameter_servers(const ClusterTask& task) {
  const auto cluster = dtrain::ClusterSpec::parse(task.cluster_spec);
  if (!cluster.address(task.job_name, task.task_id)) {
    throw std::runtime_error("the cluster has no task " + std::to_string(task.task_id) +
                             " of job \"" + task.job_name + "\"");
  }
  if (task.job_name == "ps") {
    dtrain::serve_parameters();
  } else {
    work(cluster, task);
  }
}

/// Returns the value of --NAME=VALUE; none for another flag.
std::optional<std::string_view> value_of(std::string_view word, std::string_view name) {
  if (!word.starts_with(name) || word.size() <= name.size() || word[name.size()] != '=')
    return std::nullopt;
  return word.substr(name.size() + 1);
}

/// Reads the flags; a task without cluster_spec trains by collectives.
ClusterTask read_flags(std::span<char*> words) {
  ClusterTask task;
  for (const std::string_view word : words) {
    if (const auto spec = value_of(word, "--cluster_spec")) {
      task.cluster_spec = *spec;
    } else if (const auto job = value_of(word, "--job_name")) {
      task.job_name = *job;
    } else if (const auto id = value_of(word, "--task_id")) {
      const auto read = std::from_chars(id->data(), id->data() + id->size(), task.task_id);
      if (read.ptr != id->data() + id->size() || id->empty())
        throw std::runtime_error("--task_id: expected a number, got \"" + std::string(*id) + "\"");
    } else if (word == "--sync") {
      task.sync = true;
    } else {
      throw std::runtime_error("no such flag: " + std::string(word));
    }
  }
  return task;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const ClusterTask task = read_flags(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
    if (task.cluster_spec.empty()) {
      train();
    } else {
      train_with_parameter_servers(task);
    }
    return 0;
  } catch (const std::exception& error) {  // dtrain::Error is one, and names the rank it blames
    std::fprintf(stderr, "linear_regression: %s\n", error.what());
    return 1;
  }
}
