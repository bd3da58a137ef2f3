#include "examples/digits/sampling.h"

#include <numeric>
#include <random>
#include <utility>

namespace digits {

std::vector<std::size_t> shuffled_order(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // std::shuffle may differ between standard libraries; the generator's numbers may not.
  std::mt19937_64 random(seed);
  for (std::size_t left = count; left > 1; left--)
    std::swap(order[left - 1], order[random() % left]);
  return order;
}

std::vector<std::size_t> epoch_order(std::size_t count, std::uint64_t seed, std::size_t epoch) {
  // The odd factor makes the seeds of neighbouring runs and epochs distinct.
  return shuffled_order(count, seed * 0x9E3779B97F4A7C15u + epoch);
}

}  // namespace digits
