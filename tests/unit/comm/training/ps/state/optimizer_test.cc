#include "comm/training/ps/state/optimizer.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace dt {
namespace {

/// The value after each of three gradients, by TensorFlow's formulas in float64.
struct Case {
  const char* name;
  OptimizerSettings settings;
  std::array<double, 3> expected;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"sgd", {.learning_rate = 0.1}, {0.95, 0.975, 0.875}},
      {"momentum",
       {.kind = OptimizerKind::momentum, .learning_rate = 0.1, .momentum = 0.9},
       {0.95, 0.93, 0.812}},
      {"nesterov",
       {.kind = OptimizerKind::momentum, .nesterov = true, .learning_rate = 0.1, .momentum = 0.9},
       {0.905, 0.912, 0.7058}},
      {"adagrad",
       {.kind = OptimizerKind::adagrad, .learning_rate = 0.1},
       {0.9154845745271484, 0.9544095217352245, 0.8702688893528903}},
      {"rms_prop",
       {.kind = OptimizerKind::rms_prop,
        .learning_rate = 0.1,
        .momentum = 0.5,
        .decay = 0.9,
        .epsilon = 1e-10},
       {0.9480124755118065, 0.9493162677877132, 0.841812643450532}},
      {"adam",
       {.kind = OptimizerKind::adam, .learning_rate = 0.1},
       {0.9000000632455132, 0.8733663743517929, 0.8075552324958426}},
      {"ftrl",
       {.kind = OptimizerKind::ftrl, .learning_rate = 0.1, .l1 = 0.05, .l2 = 0.01},
       {0.3712554755759174, 0.4100595869450735, 0.32606030960903354}},
      {"ftrl below l1", {.kind = OptimizerKind::ftrl, .learning_rate = 0.1, .l1 = 100}, {0, 0, 0}},
  };
  return all;
}

template <class T>
void check_case(const Case& which, double tolerance) {
  constexpr std::array<double, 3> gradients = {0.5, -0.25, 1};
  T value = 1;
  std::array<T, slots_max> slots = {};
  for (size_t slot = 0; slot < slot_count(which.settings.kind); ++slot)
    slots[slot] = static_cast<T>(initial_slot(which.settings, slot));
  for (size_t i = 0; i < gradients.size(); ++i) {
    const T gradient = static_cast<T>(gradients[i]);
    apply_optimizer(which.settings,
                    OptimizerUpdate<T>{.value = &value,
                                       .slots = {slots.data(), &slots[1]},
                                       .gradient = &gradient,
                                       .count = 1,
                                       .learning_rate = which.settings.learning_rate,
                                       .number = i + 1});
    INFO(which.name << ", update " << i + 1);
    CHECK(static_cast<double>(value) == doctest::Approx(which.expected[i]).epsilon(tolerance));
  }
}

TEST_CASE("each optimiser follows TensorFlow's formula") {
  for (const Case& which : cases()) {
    check_case<double>(which, 1e-12);
    check_case<float>(which, 1e-5);
  }
}

TEST_CASE("a gradient that is not there counts as zeros") {
  const OptimizerSettings adam{.kind = OptimizerKind::adam, .learning_rate = 0.1};
  std::array<double, 3> with = {1, 0.5, 0.25};
  std::array<double, 3> without = with;
  const double zero = 0;
  const auto apply = [&](std::array<double, 3>& state, const double* gradient) {
    apply_optimizer(adam, OptimizerUpdate<double>{.value = state.data(),
                                                  .slots = {&state[1], &state[2]},
                                                  .gradient = gradient,
                                                  .count = 1,
                                                  .learning_rate = 0.1,
                                                  .number = 2});
  };
  apply(with, &zero);
  apply(without, nullptr);
  CHECK(with == without);
  CHECK(with[0] != 1);
}

TEST_CASE("settings out of range are named") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<OptimizerSettings, std::string>> bad = {
      {{.learning_rate = -1}, "learning_rate must be a number from 0, not -1"},
      {{.learning_rate = nan}, "learning_rate must be a number from 0, not nan"},
      {{.kind = OptimizerKind::ftrl, .learning_rate = 0},
       "learning_rate must be a number above 0, not 0"},
      {{.momentum = 1}, "momentum must be a number from 0, below 1, not 1"},
      {{.beta2 = 1.5}, "beta2 must be a number from 0, below 1, not 1.5"},
      {{.kind = OptimizerKind::adagrad, .initial_accumulator = 0},
       "initial_accumulator must be a number above 0, not 0"},
      {{.learning_rate_power = 1}, "learning_rate_power must be a number up to 0, not 1"},
  };
  for (const auto& [settings, message] : bad) {
    const Result<> checked = check_optimizer(settings);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message == message);
  }
  for (const Case& which : cases())
    CHECK(check_optimizer(which.settings));
}

}  // namespace
}  // namespace dt
