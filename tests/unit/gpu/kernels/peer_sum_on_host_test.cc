#include "gpu/kernels/peer_sum_on_host.h"

#include "base/kernels/half.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace dt {
namespace {

/// Sums one array of a single rank, which has no peer.
template <class T>
std::vector<T> sum_alone(ElementType type, const std::vector<T>& values) {
  std::vector<T> to(values.size());
  std::vector<Chunk> input(8);
  std::vector<Chunk> result(8);
  PeerSignals signals = {};
  PeerTimeout timeouts[peer_blocks_max] = {};
  const uint32_t stop = 0;
  PeerAllReduce call = {.place = {.stop = &stop, .timeouts = timeouts, .patience_ns = 1},
                        .from = reinterpret_cast<const std::byte*>(values.data()),
                        .to = reinterpret_cast<std::byte*>(to.data()),
                        .count = values.size(),
                        .input = reinterpret_cast<std::byte*>(input.data()),
                        .tile_elements = 32 / sizeof(T),
                        .blocks = 2};
  call.place.signals[0] = &signals;
  call.results[0] = reinterpret_cast<const std::byte*>(result.data());
  call.reduction.arrays[0] = call.input;
  call.reduction.into = reinterpret_cast<std::byte*>(result.data());
  call.reduction.count = (values.size() * sizeof(T) + 15) / 16 * 16 / sizeof(T);
  sum_peers_on_host(type, call);
  CHECK(signals.epochs[0][0] == 1);
  CHECK(signals.epochs[0][1] == 1);
  return to;
}

template <class T>
void check_type(ElementType type) {
  REQUIRE(peers_can_sum(type));
  const std::vector<T> values = {T{1}, T{2}, T{3}};
  CHECK(std::memcmp(sum_alone(type, values).data(), values.data(), 3 * sizeof(T)) == 0);
}

TEST_CASE("each type that peers can sum has its kernel") {
  check_type<float>(ElementType::float32);
  check_type<double>(ElementType::float64);
  check_type<int32_t>(ElementType::int32);
  check_type<uint32_t>(ElementType::uint32);
  check_type<int64_t>(ElementType::int64);
  check_type<uint64_t>(ElementType::uint64);
  check_type<Float16>(ElementType::float16);
  check_type<BFloat16>(ElementType::bfloat16);
  for (const ElementType type :
       {ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::uint16,
        ElementType::boolean, ElementType::float8_e4m3, ElementType::float8_e5m2})
    CHECK_FALSE(peers_can_sum(type));
}

}  // namespace
}  // namespace dt
