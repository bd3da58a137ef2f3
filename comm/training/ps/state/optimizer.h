#pragma once

#include "base/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dt {

/// The rules by which a parameter server changes a variable.
enum class OptimizerKind : uint8_t { sgd, momentum, adagrad, rms_prop, adam, ftrl };
inline constexpr size_t optimizer_count = 6;
inline constexpr size_t slots_max = 2;

/// The settings of one variable. Each rule reads some of them, see apply_optimizer().
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::sgd;
  bool nesterov = false;
  double learning_rate = 0.01;
  double momentum = 0;
  double decay = 0.9;  ///< of the mean square of rms_prop
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double initial_accumulator = 0.1;
  double l1 = 0;
  double l2 = 0;
  double learning_rate_power = -0.5;
  bool operator==(const OptimizerSettings&) const = default;
};

/// Fails with Errc::input, which names the setting that is out of range.
Result<> check_optimizer(const OptimizerSettings& settings);
std::string_view optimizer_name(OptimizerKind kind);

/// Returns how many numbers a rule keeps for each element of a variable, up to slots_max.
size_t slot_count(OptimizerKind kind);
/// Returns the value of a slot before the first update.
double initial_slot(const OptimizerSettings& settings, size_t slot);
/// True when a rule also changes the rows that a sparse gradient does not have.
bool changes_all_rows(OptimizerKind kind);

/// One update of some elements of a variable.
template <class T>
struct OptimizerUpdate {
  T* value = nullptr;
  std::array<T*, slots_max> slots = {};
  const T* gradient = nullptr;  ///< null: zeros
  size_t count = 0;
  double learning_rate = 0;
  uint64_t number = 1;  ///< of this update of the variable, from 1
};

/// Applies a gradient by the formulas of TensorFlow, core/kernels/training_ops.cc: the functors
/// ApplyGradientDescent, ApplyMomentum, ApplyAdagrad, ApplyRMSProp, ApplyAdam and ApplyFtrl. All is
/// computed in T. The accumulator is a, the gradient g, the learning rate r, and the power -p.
///
///     sgd:       v -= r g
///     momentum:  a = momentum a + g;  v -= r a, with nesterov v -= r g + r momentum a
///     adagrad:   a += g²;  v -= r g / √a
///     rms_prop:  s += (1 - decay) (g² - s);  a = momentum a + r g / √(s + epsilon);  v -= a
///     adam:      m += (1 - beta1) (g - m);  s += (1 - beta2) (g² - s)
///                Then v -= r √(1 - beta2^n) / (1 - beta1^n) m / (√s + epsilon), for the n-th
///                update
///     ftrl:      b = a + g²;  z += g - (b^p - a^p) / r v;  a = b
///                Then v = |z| > l1 ? (sign(z) l1 - z) / (b^p / r + 2 l2) : 0
void apply_optimizer(const OptimizerSettings& settings, const OptimizerUpdate<float>& update);
void apply_optimizer(const OptimizerSettings& settings, const OptimizerUpdate<double>& update);

}  // namespace dt
