#include "examples/digits/gpu_math.cuh"

#include "examples/digits/device_trainer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace digits {
namespace {

/// Calls the function with each index, as a GPU's threads do.
struct Loop {
  template <class Function>
  void for_each(std::size_t count, const Function& function) const {
    for (std::size_t i = 0; i < count; i++)
      function(i);
  }
};

std::vector<Image> some_images(std::size_t count) {
  std::vector<Image> images(count);
  for (std::size_t n = 0; n < count; n++) {
    images[n].digit = (n * 3 + 1) % digit_count;
    for (std::size_t i = 0; i < pixel_count; i++)
      images[n].pixels[i] = static_cast<double>((i * 5 + n * 11) % 17) / 16;
  }
  return images;
}

Network::Values some_weights() {
  Network::Values weights = Network::random_weights(3);
  // Biases that differ from each other and from 0.
  for (std::size_t i = 0; i < hidden_count; i++)
    weights[Network::hidden_biases][i] = 0.01 * static_cast<double>(i % 7) - 0.02;
  for (std::size_t k = 0; k < digit_count; k++)
    weights[Network::output_biases][k] = 0.05 * static_cast<double>(k) - 0.2;
  return weights;
}

std::vector<double> joined(const Network::Values& values) {
  std::vector<double> all;
  for (const std::vector<double>& tensor : values)
    all.insert(all.end(), tensor.begin(), tensor.end());
  return all;
}

/// Returns the sums of `order`'s images, with the loss behind them.
std::vector<double> sums_by_functions(const std::vector<Image>& images,
                                      const Network::Values& weights,
                                      const std::vector<std::size_t>& order) {
  std::vector<double> pixels;
  std::vector<std::size_t> digits;
  for (const Image& image : images) {
    pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
    digits.push_back(image.digit);
  }
  const std::size_t n = order.size();
  const std::vector<double> all_weights = joined(weights);
  std::vector<double> hidden(n * hidden_count), scores(n * digit_count), log_sums(n), losses(n);
  std::vector<double> score_slopes(n * digit_count), hidden_slopes(n * hidden_count);
  std::vector<double> sums(weight_count + 1, -1);
  const Loop loop;
  queue_gradient(loop, {pixels.data(), digits.data(), order.data(), n},
                 {.weights = all_weights.data(),
                  .hidden = hidden.data(),
                  .scores = scores.data(),
                  .log_sums = log_sums.data(),
                  .losses = losses.data(),
                  .score_slopes = score_slopes.data(),
                  .hidden_slopes = hidden_slopes.data(),
                  .sums = sums.data()});
  return sums;
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (const double value : b)
    largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < a.size(); i++) {
    // Relative to the element, but not to one that is the rest of larger ones.
    const double allowed = 1e-12 * std::max(std::abs(b[i]), 1e-3 * largest);
    const bool close = std::abs(a[i] - b[i]) <= allowed;  // false for what is no number
    if (!close) CAPTURE(i);
    REQUIRE(close);
  }
}

TEST_CASE("the functions for GPUs compute the gradient and the loss of the network") {
  const std::vector<Image> images = some_images(13);
  const Network::Values weights = some_weights();
  const Network network(weights);
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{0}, {4, 11, 2, 7, 12}, {12, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}) {
    CAPTURE(order.size());
    Network::Values gradient = Network::zeros();
    double loss = 0;
    for (const std::size_t n : order)
      loss += network.add_gradient(images[n], gradient);
    std::vector<double> expected = joined(gradient);
    expected.push_back(loss);
    check_close(sums_by_functions(images, weights, order), expected);
  }
}

TEST_CASE("a part without images has zeros as its gradient and its loss") {
  const std::vector<double> sums = sums_by_functions(some_images(3), some_weights(), {});
  CHECK(std::ranges::all_of(sums, [](double sum) { return sum == 0; }));
}

TEST_CASE("a weight that is no number makes the loss none") {
  for (const std::size_t tensor : {Network::hidden_weights, Network::output_biases}) {
    Network::Values weights = some_weights();
    weights[tensor][0] = std::nan("");
    std::vector<Image> images = some_images(2);
    images[1].pixels[0] = 1;
    CHECK(std::isnan(sums_by_functions(images, weights, {1}).back()));
  }
}

TEST_CASE("large scores have a finite loss") {
  Network::Values weights = some_weights();
  weights[Network::output_biases][4] = 5000;
  const std::vector<Image> images = some_images(2);
  const double loss = sums_by_functions(images, weights, {1}).back();
  CHECK(loss == doctest::Approx(Network(weights).loss(images[1])).epsilon(1e-12));
}

TEST_CASE("a step keeps a share of the last one") {
  std::vector<double> weights = {1, -2};
  std::vector<double> velocity = {0, 3};
  const std::vector<double> gradient = {8, -4};
  const Loop loop;
  const MomentumStep step{.momentum = 0.5,
                          .learning_rate = 0.25,
                          .batch_size = 4,
                          .gradient = gradient.data(),
                          .velocity = velocity.data(),
                          .weights = weights.data()};
  loop.for_each(2, step);
  CHECK(velocity == std::vector<double>{2, 0.5});
  CHECK(weights == std::vector<double>{0.5, -2.125});
  loop.for_each(2, step);
  CHECK(velocity == std::vector<double>{3, -0.75});
  CHECK(weights == std::vector<double>{-0.25, -1.9375});
}

TEST_CASE("tensors lie behind each other") {
  CHECK(tensor_begin(Network::hidden_weights) == 0);
  CHECK(hidden_biases_at == 64 * 256);
  CHECK(output_weights_at == 64 * 256 + 256);
  CHECK(output_biases_at == 64 * 256 + 256 + 2560);
  CHECK(weight_count == joined(Network::zeros()).size());
}

}  // namespace
}  // namespace digits
