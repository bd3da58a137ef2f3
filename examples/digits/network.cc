#include "examples/digits/network.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace digits {
namespace {

/// Row i of a matrix belongs to its input i, so that the inner loops below access consecutive
/// numbers.
template <class T>
std::span<T> row(std::span<T> matrix, std::size_t i, std::size_t size) {
  return matrix.subspan(i * size, size);
}

void fill_uniform(std::span<double> weights, std::size_t inputs, std::mt19937_64& random) {
  const double limit = std::sqrt(6.0 / static_cast<double>(inputs));
  for (double& weight : weights) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;  // 0 to 1
    weight = (2 * unit - 1) * limit;
  }
}

void add_scaled(std::span<double> sum, double factor, std::span<const double> row) {
  for (std::size_t i = 0; i < sum.size(); i++)
    sum[i] += factor * row[i];
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); i++)
    sum += a[i] * b[i];
  return sum;
}

/// log(sum(exp(scores))), safe for large scores.
double log_sum_exp(std::span<const double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores)
    sum += std::exp(score - largest);
  return largest + std::log(sum);
}

}  // namespace

Network::Network(const Values& weights) {
  std::ranges::copy(weights, weights_.begin());
}

Network::Values Network::zeros() {
  Values values;
  for (std::size_t t = 0; t < tensor_count; t++)
    values[t].resize(tensors[t].size);
  return values;
}

Network::Values Network::random_weights(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Values weights = zeros();
  fill_uniform(weights[hidden_weights], pixel_count, random);
  fill_uniform(weights[output_weights], hidden_count, random);
  return weights;
}

Network::Activations Network::forward(const Image& image) const {
  Activations at;
  std::ranges::copy(weights_[hidden_biases], at.hidden.begin());
  for (std::size_t i = 0; i < pixel_count; i++) {
    if (image.pixels[i] == 0) continue;
    add_scaled(at.hidden, image.pixels[i], row(weights_[hidden_weights], i, hidden_count));
  }
  for (double& unit : at.hidden)
    unit = std::max(unit, 0.0);

  std::ranges::copy(weights_[output_biases], at.scores.begin());
  for (std::size_t i = 0; i < hidden_count; i++)
    add_scaled(at.scores, at.hidden[i], row(weights_[output_weights], i, digit_count));
  return at;
}

double Network::loss(const Image& image) const {
  const Activations at = forward(image);
  return log_sum_exp(at.scores) - at.scores[image.digit];
}

double Network::add_gradient(const Image& image, Values& gradient) const {
  const Activations at = forward(image);
  const double log_sum = log_sum_exp(at.scores);

  // The derivatives by the scores: the probabilities, less one at the right digit.
  std::array<double, digit_count> score_slopes;
  for (std::size_t k = 0; k < digit_count; k++)
    score_slopes[k] = std::exp(at.scores[k] - log_sum);
  score_slopes[image.digit] -= 1;
  add_scaled(gradient[output_biases], 1, score_slopes);

  std::array<double, hidden_count> hidden_slopes;
  const std::span<double> output_slopes = gradient[output_weights];
  for (std::size_t i = 0; i < hidden_count; i++) {
    add_scaled(row(output_slopes, i, digit_count), at.hidden[i], score_slopes);
    const std::span<const double> weights = row(weights_[output_weights], i, digit_count);
    hidden_slopes[i] = at.hidden[i] > 0 ? dot(weights, score_slopes) : 0;
  }
  add_scaled(gradient[hidden_biases], 1, hidden_slopes);

  const std::span<double> pixel_slopes = gradient[hidden_weights];
  for (std::size_t i = 0; i < pixel_count; i++) {
    if (image.pixels[i] == 0) continue;
    add_scaled(row(pixel_slopes, i, hidden_count), image.pixels[i], hidden_slopes);
  }
  return log_sum - at.scores[image.digit];
}

std::size_t Network::guess(const Image& image) const {
  const Activations at = forward(image);
  const auto best = std::max_element(at.scores.begin(), at.scores.end());
  return static_cast<std::size_t>(best - at.scores.begin());
}

double accuracy(const Network& network, std::span<const Image> images) {
  const auto right = std::count_if(images.begin(), images.end(), [&](const Image& image) {
    return network.guess(image) == image.digit;
  });
  return static_cast<double>(right) / static_cast<double>(images.size());
}

double mean_loss(const Network& network, std::span<const Image> images) {
  double sum = 0;
  for (const Image& image : images)
    sum += network.loss(image);
  return sum / static_cast<double>(images.size());
}

}  // namespace digits
