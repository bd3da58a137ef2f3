#include "comm/training/ps/state/optimizer.h"

#include "base/format.h"

#include <cmath>
#include <string>

namespace dt {

namespace {

constexpr std::array<std::string_view, optimizer_count> names = {"sgd",      "momentum", "adagrad",
                                                                 "rms_prop", "adam",     "ftrl"};

/// The settings as numbers of the variable's type.
template <class T>
struct Terms {
  Terms(const OptimizerSettings& settings, const OptimizerUpdate<T>& update)
      : rate(static_cast<T>(update.learning_rate)),
        momentum(static_cast<T>(settings.momentum)),
        decay(static_cast<T>(settings.decay)),
        beta1(static_cast<T>(settings.beta1)),
        beta2(static_cast<T>(settings.beta2)),
        epsilon(static_cast<T>(settings.epsilon)),
        l1(static_cast<T>(settings.l1)),
        l2(static_cast<T>(settings.l2)),
        power(static_cast<T>(settings.learning_rate_power)) {}
  T rate;
  T momentum;
  T decay;
  T beta1;
  T beta2;
  T epsilon;
  T l1;
  T l2;
  T power;
};

/// Calls `body` with each element's index and gradient.
template <class T, class Body>
void for_each(const OptimizerUpdate<T>& update, const Body& body) {
  for (size_t i = 0; i < update.count; ++i)
    body(i, update.gradient == nullptr ? T(0) : update.gradient[i]);
}

template <class T>
void apply_momentum(const Terms<T>& terms, bool nesterov, const OptimizerUpdate<T>& update) {
  for_each(update, [&](size_t i, T g) {
    T& accumulated = update.slots[0][i];
    accumulated = accumulated * terms.momentum + g;
    update.value[i] -= nesterov ? g * terms.rate + accumulated * terms.momentum * terms.rate
                                : accumulated * terms.rate;
  });
}

template <class T>
void apply_adagrad(const Terms<T>& terms, const OptimizerUpdate<T>& update) {
  for_each(update, [&](size_t i, T g) {
    update.slots[0][i] += g * g;
    update.value[i] -= g * terms.rate / std::sqrt(update.slots[0][i]);
  });
}

template <class T>
void apply_rms_prop(const Terms<T>& terms, const OptimizerUpdate<T>& update) {
  for_each(update, [&](size_t i, T g) {
    T& square = update.slots[0][i];
    T& moved = update.slots[1][i];
    square += (g * g - square) * (T(1) - terms.decay);
    moved = moved * terms.momentum + g * terms.rate / std::sqrt(square + terms.epsilon);
    update.value[i] -= moved;
  });
}

template <class T>
void apply_adam(const Terms<T>& terms, const OptimizerUpdate<T>& update) {
  const auto n = static_cast<T>(update.number);
  const T rate =
      terms.rate * std::sqrt(T(1) - std::pow(terms.beta2, n)) / (T(1) - std::pow(terms.beta1, n));
  for_each(update, [&](size_t i, T g) {
    T& mean = update.slots[0][i];
    T& square = update.slots[1][i];
    mean += (g - mean) * (T(1) - terms.beta1);
    square += (g * g - square) * (T(1) - terms.beta2);
    update.value[i] -= mean * rate / (std::sqrt(square) + terms.epsilon);
  });
}

template <class T>
void apply_ftrl(const Terms<T>& terms, const OptimizerUpdate<T>& update) {
  for_each(update, [&](size_t i, T g) {
    T& accumulated = update.slots[0][i];
    T& linear = update.slots[1][i];
    const T sum = accumulated + g * g;
    const T scale = std::pow(sum, -terms.power);
    linear += g - (scale - std::pow(accumulated, -terms.power)) / terms.rate * update.value[i];
    accumulated = sum;
    const T quadratic = scale / terms.rate + T(2) * terms.l2;
    const bool beyond = std::abs(linear) > terms.l1;
    update.value[i] = beyond ? (std::copysign(terms.l1, linear) - linear) / quadratic : T(0);
  });
}

template <class T>
void apply(const OptimizerSettings& settings, const OptimizerUpdate<T>& update) {
  const Terms<T> terms(settings, update);
  switch (settings.kind) {
    case OptimizerKind::sgd:
      return for_each(update, [&](size_t i, T g) { update.value[i] -= g * terms.rate; });
    case OptimizerKind::momentum:
      return apply_momentum(terms, settings.nesterov, update);
    case OptimizerKind::adagrad:
      return apply_adagrad(terms, update);
    case OptimizerKind::rms_prop:
      return apply_rms_prop(terms, update);
    case OptimizerKind::adam:
      return apply_adam(terms, update);
    case OptimizerKind::ftrl:
      return apply_ftrl(terms, update);
  }
}

/// A setting with the range in which the formulas are defined.
struct SettingRange {
  std::string_view name;
  double value;
  bool fits;
  std::string_view expected;
};

bool in_unit_interval(double value) {
  return value >= 0 && value < 1;
}

}  // namespace

Result<> check_optimizer(const OptimizerSettings& settings) {
  const OptimizerKind kind = settings.kind;
  const bool accumulates = kind == OptimizerKind::adagrad || kind == OptimizerKind::ftrl;
  const bool ftrl = kind == OptimizerKind::ftrl;
  const std::array ranges = {
      SettingRange{"learning_rate", settings.learning_rate,
                   ftrl ? settings.learning_rate > 0 : settings.learning_rate >= 0,
                   ftrl ? "above 0" : "from 0"},
      SettingRange{"momentum", settings.momentum, in_unit_interval(settings.momentum),
                   "from 0, below 1"},
      SettingRange{"decay", settings.decay, in_unit_interval(settings.decay), "from 0, below 1"},
      SettingRange{"beta1", settings.beta1, in_unit_interval(settings.beta1), "from 0, below 1"},
      SettingRange{"beta2", settings.beta2, in_unit_interval(settings.beta2), "from 0, below 1"},
      SettingRange{"epsilon", settings.epsilon, settings.epsilon >= 0, "from 0"},
      SettingRange{
          "initial_accumulator", settings.initial_accumulator,
          accumulates ? settings.initial_accumulator > 0 : settings.initial_accumulator >= 0,
          "above 0"},
      SettingRange{"l1", settings.l1, settings.l1 >= 0, "from 0"},
      SettingRange{"l2", settings.l2, settings.l2 >= 0, "from 0"},
      SettingRange{"learning_rate_power", settings.learning_rate_power,
                   settings.learning_rate_power <= 0, "up to 0"},
  };
  for (const SettingRange& range : ranges) {
    if (range.fits && std::isfinite(range.value)) continue;
    return fail(Errc::input,
                format("{} must be a number {}, not {}", range.name, range.expected, range.value));
  }
  return {};
}

std::string_view optimizer_name(OptimizerKind kind) {
  return names[static_cast<size_t>(kind)];
}

size_t slot_count(OptimizerKind kind) {
  constexpr std::array<size_t, optimizer_count> counts = {0, 1, 1, 2, 2, 2};
  return counts[static_cast<size_t>(kind)];
}

double initial_slot(const OptimizerSettings& settings, size_t slot) {
  const bool accumulates =
      settings.kind == OptimizerKind::adagrad || settings.kind == OptimizerKind::ftrl;
  if (slot == 0 && accumulates) return settings.initial_accumulator;
  // RMSPropOptimizer of TensorFlow 1 starts its mean square with ones.
  return slot == 0 && settings.kind == OptimizerKind::rms_prop ? 1 : 0;
}

bool changes_all_rows(OptimizerKind kind) {
  // AdamOptimizer._apply_sparse decays both means of all rows; the sparse kernels of the others
  // change the given rows only.
  return kind == OptimizerKind::adam;
}

void apply_optimizer(const OptimizerSettings& settings, const OptimizerUpdate<float>& update) {
  apply(settings, update);
}

void apply_optimizer(const OptimizerSettings& settings, const OptimizerUpdate<double>& update) {
  apply(settings, update);
}

}  // namespace dt
