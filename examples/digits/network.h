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
/// All weights are in one array, which is a variable of the strategy, and a gradient has the same
/// layout. A network is a view of that array.
class Network {
 public:
  static constexpr std::size_t hidden_count = 256;
  static constexpr std::size_t weight_count =
      (pixel_count + 1) * hidden_count + (hidden_count + 1) * digit_count;

  /// Requires `weight_count` weights that outlive this.
  explicit Network(std::span<const double> weights) : weights_(weights) {}

  /// Returns random initial weights, the same for the same seed (uniform, scaled as by He et al.,
  /// 2015).
  static std::vector<double> random_weights(std::uint64_t seed);

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

  std::span<const double> weights_;
};

/// Returns the share of the images that the network reads right, 0 to 1.
double accuracy(const Network& network, std::span<const Image> images);

double mean_loss(const Network& network, std::span<const Image> images);

}  // namespace digits
