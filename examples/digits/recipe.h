#pragma once

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace digits {

/// The share of the last step that a step of SGD keeps.
inline constexpr double momentum = 0.9;

/// Returns the mean of the losses of an epoch, which counts from 1. Throws when it is no number.
/// All ranks have the same sum, so all of them throw.
inline double mean_of_epoch(double loss_sum, double images, std::size_t epoch) {
  if (std::isfinite(loss_sum)) return loss_sum / std::fmax(images, 1);
  throw std::runtime_error("the loss is no longer a number in epoch " + std::to_string(epoch) +
                           "; try a smaller --learning-rate");
}

}  // namespace digits
