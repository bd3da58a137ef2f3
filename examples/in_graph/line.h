#pragma once

// The points and the line of in_graph.

#include <cstddef>
#include <dtrain/dtrain_ps.hpp>
#include <random>
#include <span>
#include <vector>

namespace in_graph {

inline constexpr std::size_t batch_size = 64;
inline constexpr double learning_rate = 0.02;

struct Point {
  double x = 0;
  double y = 0;
};

/// Returns the same points for a batch in every process.
inline std::vector<Point> make_batch(std::size_t number) {
  std::mt19937_64 random(number);
  std::uniform_real_distribution<double> place(-1, 1);
  std::normal_distribution<double> noise(0, 0.1);
  std::vector<Point> points(batch_size);
  for (Point& point : points) {
    point.x = place(random);
    point.y = 2 * point.x + 10 + noise(random);
  }
  return points;
}

/// The line on the parameter servers. Chief and workers declare it alike; the chief's values count.
class ServedLine {
 public:
  explicit ServedLine(dtrain::ParameterServers& ps) : ps_(ps) {
    ps_.declare({{.name = "w", .type = DTRAIN_FLOAT64, .learning_rate = learning_rate},
                 {.name = "b", .type = DTRAIN_FLOAT64, .learning_rate = learning_rate}});
  }
  void pull() { ps_.pull(arrays_); }
  /// Pushes the gradient of the mean squared error over the points.
  void step(std::span<const Point> points) {
    w_gradient_ = b_gradient_ = 0;
    for (const Point& point : points) {
      w_gradient_ += 2 * error(point) * point.x / static_cast<double>(points.size());
      b_gradient_ += 2 * error(point) / static_cast<double>(points.size());
    }
    ps_.push(arrays_);
  }
  double loss(std::span<const Point> points) const {
    double sum = 0;
    for (const Point& point : points)
      sum += error(point) * error(point) / static_cast<double>(points.size());
    return sum;
  }
  double w() const { return w_; }
  double b() const { return b_; }

 private:
  double error(const Point& point) const { return w_ * point.x + b_ - point.y; }

  dtrain::ParameterServers& ps_;
  double w_ = 0;
  double b_ = 0;
  double w_gradient_ = 0;
  double b_gradient_ = 0;
  const std::vector<dtrain::PsArray> arrays_ = {
      dtrain::PsArray::push_pull<double>("w", std::span(&w_gradient_, 1), std::span(&w_, 1)),
      dtrain::PsArray::push_pull<double>("b", std::span(&b_gradient_, 1), std::span(&b_, 1))};
};

}  // namespace in_graph
