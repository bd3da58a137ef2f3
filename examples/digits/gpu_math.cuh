#pragma once

#include "examples/digits/images.h"
#include "examples/digits/network.h"

#include <cmath>
#include <cstddef>

// The steps of a training, as functions of one index. A GPU runs each in as many threads as it has
// results; tests run them in loops. The formulas are those of network.cc and trainer.cc.
#ifdef __CUDACC__
#define DIGITS_BOTH __host__ __device__
#else
#define DIGITS_BOTH
#endif

namespace digits {

/// Returns where a tensor begins in an array of all weights, or of a gradient.
constexpr std::size_t tensor_begin(std::size_t tensor) {
  std::size_t begin = 0;
  for (std::size_t t = 0; t < tensor; t++)
    begin += Network::tensors[t].size;
  return begin;
}
inline constexpr std::size_t hidden_biases_at = tensor_begin(Network::hidden_biases);
inline constexpr std::size_t output_weights_at = tensor_begin(Network::output_weights);
inline constexpr std::size_t output_biases_at = tensor_begin(Network::output_biases);
inline constexpr std::size_t weight_count = tensor_begin(Network::tensor_count);
inline constexpr std::size_t hidden_count = Network::hidden_count;

/// A rank's part of a batch. Image n of it is image order[n] of all.
struct BatchPart {
  const double* all_pixels = nullptr;  ///< pixel_count for each image
  const std::size_t* all_digits = nullptr;
  const std::size_t* order = nullptr;
  std::size_t count = 0;

  DIGITS_BOTH const double* pixels(std::size_t n) const {
    return all_pixels + order[n] * pixel_count;
  }
  DIGITS_BOTH std::size_t digit(std::size_t n) const { return all_digits[order[n]]; }
};

/// A layer's results, for image n and unit k at index n * units + k.
struct HiddenUnits {
  BatchPart part;
  const double* weights;
  double* hidden;

  DIGITS_BOTH void operator()(std::size_t index) const {
    const std::size_t unit = index % hidden_count;
    const double* const pixels = part.pixels(index / hidden_count);
    double sum = weights[hidden_biases_at + unit];
    for (std::size_t i = 0; i < pixel_count; i++)
      sum += pixels[i] * weights[i * hidden_count + unit];
    hidden[index] = sum < 0 ? 0 : sum;  // what is no number stays so
  }
};

struct Scores {
  const double* weights;
  const double* hidden;
  double* scores;

  DIGITS_BOTH void operator()(std::size_t index) const {
    const std::size_t digit = index % digit_count;
    const double* const units = hidden + index / digit_count * hidden_count;
    double sum = weights[output_biases_at + digit];
    for (std::size_t i = 0; i < hidden_count; i++)
      sum += units[i] * weights[output_weights_at + i * digit_count + digit];
    scores[index] = sum;
  }
};

/// log(sum(exp(scores))) of image n, and its loss.
struct Losses {
  BatchPart part;
  const double* scores;
  double* log_sums;
  double* losses;

  DIGITS_BOTH void operator()(std::size_t n) const {
    const double* const of_image = scores + n * digit_count;
    double largest = of_image[0];
    for (std::size_t k = 1; k < digit_count; k++)
      largest = of_image[k] > largest ? of_image[k] : largest;
    double sum = 0;
    for (std::size_t k = 0; k < digit_count; k++)
      sum += std::exp(of_image[k] - largest);
    log_sums[n] = largest + std::log(sum);
    losses[n] = log_sums[n] - of_image[part.digit(n)];
  }
};

/// The derivatives by the scores: the probabilities, less one at the right digit.
struct ScoreSlopes {
  BatchPart part;
  const double* scores;
  const double* log_sums;
  double* slopes;

  DIGITS_BOTH void operator()(std::size_t index) const {
    const std::size_t n = index / digit_count;
    const double right = index % digit_count == part.digit(n) ? 1 : 0;
    slopes[index] = std::exp(scores[index] - log_sums[n]) - right;
  }
};

/// The derivatives by the hidden units before their ReLU.
struct HiddenSlopes {
  const double* weights;
  const double* hidden;
  const double* score_slopes;
  double* slopes;

  DIGITS_BOTH void operator()(std::size_t index) const {
    const std::size_t unit = index % hidden_count;
    const double* const row = weights + output_weights_at + unit * digit_count;
    const double* const of_image = score_slopes + index / hidden_count * digit_count;
    double sum = 0;
    for (std::size_t k = 0; k < digit_count; k++)
      sum += row[k] * of_image[k];
    slopes[index] = hidden[index] > 0 ? sum : 0;
  }
};

/// The gradient of the hidden weights: pixel i times the slope of the unit, over all images.
struct HiddenWeightSums {
  BatchPart part;
  const double* hidden_slopes;
  double* sums;

  DIGITS_BOTH void operator()(std::size_t index) const {
    const std::size_t i = index / hidden_count;
    const std::size_t unit = index % hidden_count;
    double sum = 0;
    for (std::size_t n = 0; n < part.count; n++)
      sum += part.pixels(n)[i] * hidden_slopes[n * hidden_count + unit];
    sums[index] = sum;
  }
};

/// The gradient of the output weights: hidden unit i times the slope of the score.
struct OutputWeightSums {
  std::size_t images;
  const double* hidden;
  const double* score_slopes;
  double* sums;

  DIGITS_BOTH void operator()(std::size_t index) const {
    const std::size_t i = index / digit_count;
    const std::size_t digit = index % digit_count;
    double sum = 0;
    for (std::size_t n = 0; n < images; n++)
      sum += hidden[n * hidden_count + i] * score_slopes[n * digit_count + digit];
    sums[index] = sum;
  }
};

/// The sum over all images of values that each image has: the gradients of biases, and the loss.
struct ImageSums {
  std::size_t images;
  std::size_t values_per_image;
  const double* values;
  double* sums;

  DIGITS_BOTH void operator()(std::size_t index) const {
    double sum = 0;
    for (std::size_t n = 0; n < images; n++)
      sum += values[n * values_per_image + index];
    sums[index] = sum;
  }
};

/// One step of SGD with momentum, from the sum of the gradients of a whole batch.
struct MomentumStep {
  double momentum;
  double learning_rate;
  double batch_size;
  const double* gradient;
  double* velocity;
  double* weights;

  DIGITS_BOTH void operator()(std::size_t index) const {
    velocity[index] = momentum * velocity[index] + gradient[index] / batch_size;
    weights[index] -= learning_rate * velocity[index];
  }
};

/// Adds one number to another.
struct AddTo {
  const double* value;
  double* sum;

  DIGITS_BOTH void operator()(std::size_t index) const { sum[index] += value[index]; }
};

}  // namespace digits
