#include "comm/training/strategy/worker_packs.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a pack has tensors of one type, and is closed when it has enough bytes") {
  constexpr ElementType f32 = ElementType::float32;
  constexpr ElementType f64 = ElementType::float64;
  using Packs = std::vector<std::vector<size_t>>;
  CHECK(pack_for_workers({{f32, 1}, {f32, 1}, {f32, 2}, {f32, 1}}, 8) == Packs{{0, 1}, {2}, {3}});
  CHECK(pack_for_workers({{f32, 1}, {f64, 1}, {f32, 1}}, 8) == Packs{{1}, {0, 2}});
  CHECK(pack_for_workers({{f32, 1}, {f64, 1}, {f32, 1}}, 1000) == Packs{{0, 2}, {1}});
  CHECK(pack_for_workers({{f32, 1}, {f32, 1}}, 0) == Packs{{0}, {1}});
  CHECK(pack_for_workers({}, 8).empty());
}

}  // namespace
}  // namespace dt
