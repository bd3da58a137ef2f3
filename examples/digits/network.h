#pragma once

#include "examples/digits/images.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace digits {

/// 64 pixels, 256 hidden units (ReLU), 10 digits (softmax).
///
/// All weights are in one array, and a gradient has the same layout. So one broadcast transfers the
/// whole network.
class Network {
 public:
  static constexpr std::size_t hidden_count = 256;
  static constexpr std::size_t weight_count =
      (pixel_count + 1) * hidden_count + (hidden_count + 1) * digit_count;

  Network() : weights_(weight_count) {}

  /// The weights of both layers, or their gradients.
  static std::array<std::span<double>, 2> layers(std::span<double> weights) {
    return {weights.first((pixel_count + 1) * hidden_count),
            weights.last((hidden_count + 1) * digit_count)};
  }

  /// Sets random initial weights, the same for the same seed (uniform, scaled as by He et al.,
  /// 2015).
  void randomize(std::uint64_t seed);

  std::span<double> weights() { return weights_; }
  std::span<const double> weights() const { return weights_; }

  /// Cross entropy of one image, in nats.
  double loss(const Image& image) const;

  /// Adds the loss's gradient to `gradient` (weight_count numbers) and returns the loss.
  double add_gradient(const Image& image, std::span<double> gradient) const;

  /// Returns the digit that the network reads.
  std::size_t guess(const Image& image) const;

 private:
  struct Activations {
    std::array<double, hidden_count> hidden;
    std::array<double, digit_count> scores;
  };

  Activations forward(const Image& image) const;

  std::vector<double> weights_;
};

/// Returns the share of the images that the network reads right, 0 to 1.
double accuracy(const Network& network, std::span<const Image> images);

double mean_loss(const Network& network, std::span<const Image> images);

}  // namespace digits
