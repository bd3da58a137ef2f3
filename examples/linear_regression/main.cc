// Finds the line y = 2 x + 10 in noisy points by stochastic gradient descent.
// Runs alone, or on many ranks: `dtrain run -np 4 linear_regression`.
// Each rank has its own part of the points. The steps are the same for any number of ranks.

#include <array>
#include <cstddef>
#include <cstdio>
#include <dtrain/dtrain.hpp>
#include <exception>
#include <random>
#include <span>
#include <vector>

namespace {

constexpr std::size_t point_count = 4096;
constexpr std::size_t batch_size = 64;  // of all ranks together
constexpr int epochs = 10;
constexpr double learning_rate = 0.02;

struct Point {
  double x = 0;
  double y = 0;
};

/// Returns the same point for an index on every rank.
Point make_point(std::size_t index) {
  std::mt19937_64 random(index);
  const double x = std::uniform_real_distribution<double>(-1, 1)(random);
  const double noise = std::normal_distribution<double>(0, 0.1)(random);
  return {x, 2 * x + 10 + noise};
}

/// A rank's part of each batch: every size-th of its points.
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

/// Returns the mean over a batch. Sums over `part`, this rank's points of it, then over all ranks:
/// each number by an operation of its own, which its name matches. dtrain sends them together.
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

}  // namespace

int main() {
  try {
    train();
    return 0;
  } catch (const std::exception& error) {  // dtrain::Error is one, and names the rank it blames
    std::fprintf(stderr, "linear_regression: %s\n", error.what());
    return 1;
  }
}
