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
/// Each layer has a matrix of weights and an array of biases: four tensors, each a variable of the
/// strategy. A network is a view of them, and a gradient has the same tensors.
class Network {
 public:
  static constexpr std::size_t hidden_count = 256;

  /// The indices of the tensors.
  enum : std::size_t { hidden_weights, hidden_biases, output_weights, output_biases, tensor_count };
  struct Tensor {
    const char* name;
    std::size_t size;
  };
  static constexpr std::array<Tensor, tensor_count> tensors = {{
      {.name = "hidden.weights", .size = pixel_count * hidden_count},
      {.name = "hidden.biases", .size = hidden_count},
      {.name = "output.weights", .size = hidden_count * digit_count},
      {.name = "output.biases", .size = digit_count},
  }};
  using Values = std::array<std::vector<double>, tensor_count>;
  using Views = std::array<std::span<const double>, tensor_count>;

  /// Requires that the weights outlive this.
  explicit Network(const Views& weights) : weights_(weights) {}
  explicit Network(const Values& weights);

  static Values zeros();
  /// Returns random initial weights, the same for the same seed (uniform, scaled as by He et al.,
  /// 2015).
  static Values random_weights(std::uint64_t seed);

  /// Cross entropy of one image, in nats.
  double loss(const Image& image) const;

  /// Adds the loss's gradient to `gradient`, and returns the loss.
  double add_gradient(const Image& image, Values& gradient) const;

  /// Returns the digit that the network reads.
  std::size_t guess(const Image& image) const;

 private:
  struct Activations {
    std::array<double, hidden_count> hidden;
    std::array<double, digit_count> scores;
  };

  Activations forward(const Image& image) const;

  Views weights_;
};

/// Returns the share of the images that the network reads right, 0 to 1.
double accuracy(const Network& network, std::span<const Image> images);

double mean_loss(const Network& network, std::span<const Image> images);

}  // namespace digits
