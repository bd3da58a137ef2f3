#pragma once

#include "examples/digits/images.h"
#include "examples/digits/network.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace digits {

/// The outcome of a training.
struct Trained {
  std::vector<double> losses;
  Network::Values weights;

  friend bool operator==(const Trained&, const Trained&) = default;
};

/// Images that differ by their digits.
inline std::vector<Image> example_images(std::size_t count) {
  std::vector<Image> images(count);
  for (std::size_t n = 0; n < images.size(); n++) {
    images[n].digit = n % digit_count;
    for (std::size_t i = 0; i < pixel_count; i++)
      images[n].pixels[i] = static_cast<double>((i * images[n].digit + n) % 17) / 16;
  }
  return images;
}

/// Trains on `size` ranks. Checks that they end with the same bits, and returns these.
inline Trained train_on_ranks(int size, const std::function<Trained(dtrain::Context&)>& train) {
  dt::World world({.size = size});
  std::mutex mutex;
  std::map<int, Trained> trained;
  dt::check_all_well(world.run([&](dtrain::Context& context) {
    Trained ours = train(context);
    const std::lock_guard lock(mutex);
    trained[context.rank()] = std::move(ours);
  }));
  REQUIRE(trained.size() == static_cast<std::size_t>(size));
  for (const auto& [rank, theirs] : trained)
    CHECK((theirs == trained[0]));
  return trained[0];
}

inline void check_close(const Trained& a, const Trained& b, double tolerance) {
  REQUIRE(a.losses.size() == b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); i++)
    CHECK(a.losses[i] == doctest::Approx(b.losses[i]).epsilon(tolerance));
  double worst = 0;
  for (std::size_t t = 0; t < a.weights.size(); t++)
    for (std::size_t i = 0; i < a.weights[t].size(); i++)
      worst = std::max(worst, std::abs(a.weights[t][i] - b.weights[t][i]));
  CHECK(worst < tolerance);
}

}  // namespace digits
