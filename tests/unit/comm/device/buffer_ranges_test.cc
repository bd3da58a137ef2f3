#include "comm/device/buffer_ranges.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace dt {
namespace {

constexpr size_t count = 10;
constexpr size_t bytes = count * sizeof(float);

OperationRequest request_of(OperationKind kind, int root = 0) {
  OperationRequest request{.kind = kind, .peer = root, .count = count};
  static std::array<std::byte, 1> memory;
  request.input = request.output = memory.data();
  return request;
}

TEST_CASE("a call uses the ranges that its operation reads and writes on this rank") {
  struct Case {
    OperationKind kind;
    int rank;
    size_t input;
    size_t output;
  };
  // Rank 1 of 3 is the root.
  for (const Case& c : std::vector<Case>{{OperationKind::all_reduce, 0, 1, 1},
                                         {OperationKind::broadcast, 1, 1, 1},
                                         {OperationKind::broadcast, 0, 0, 1},
                                         {OperationKind::all_gather, 0, 1, 3},
                                         {OperationKind::reduce_scatter, 0, 3, 1},
                                         {OperationKind::reduce, 1, 1, 1},
                                         {OperationKind::reduce, 2, 1, 0},
                                         {OperationKind::gather, 1, 1, 3},
                                         {OperationKind::gather, 2, 1, 0},
                                         {OperationKind::scatter, 1, 3, 1},
                                         {OperationKind::scatter, 2, 0, 1},
                                         {OperationKind::all_to_all, 0, 3, 3},
                                         {OperationKind::all_gather_v, 0, 1, 0},
                                         {OperationKind::send, 0, 1, 0},
                                         {OperationKind::receive, 0, 0, 1},
                                         {OperationKind::barrier, 0, 0, 0},
                                         {OperationKind::join, 0, 0, 0}}) {
    const auto ranges = ranges_of(request_of(c.kind, 1), {.rank = c.rank, .size = 3});
    REQUIRE(ranges.size() == 1);
    CAPTURE(kind_name(c.kind));
    CHECK(ranges[0].input_bytes == c.input * bytes);
    CHECK(ranges[0].output_bytes == c.output * bytes);
  }
}

TEST_CASE("parts of different sizes have the bytes of all of them") {
  for (const OperationKind kind : {OperationKind::all_to_all_v, OperationKind::reduce_scatter}) {
    OperationRequest request = request_of(kind);
    request.counts = {1, 2, 4};
    CHECK(ranges_of(request, {.rank = 0, .size = 3})[0].input_bytes == 7 * sizeof(float));
    CHECK(ranges_of(request, {.rank = 0, .size = 3})[0].output_bytes == 0);
  }
}

TEST_CASE("each tensor of a list has its ranges, and a root without output has none") {
  std::vector<float> one(4);
  OperationRequest list{.kind = OperationKind::all_reduce};
  list.tensors = {{.count = 4, .input = one.data(), .output = one.data()},
                  {.type = ElementType::int8}};
  const auto ranges = ranges_of(list, {});
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].input_bytes == 16);
  CHECK(ranges[0].output_bytes == 16);
  CHECK(ranges[1] == BufferRanges{});
  OperationRequest scatter = request_of(OperationKind::scatter);
  scatter.output = nullptr;
  CHECK(ranges_of(scatter, {.rank = 0, .size = 2})[0].output_bytes == 0);
}

TEST_CASE("separate ranges get places of their own, and overlapping ones keep their distance") {
  std::array<std::byte, 1000> memory = {};
  std::byte* const at = memory.data();
  struct Case {
    BufferRanges ranges;
    StagedPlaces places;
    size_t bytes;
  };
  for (const Case& c : std::vector<Case>{
           {{at, 300, at + 300, 100}, {0, 512}, 768},  // behind each other
           {{at, 300, at, 300}, {0, 0}, 512},          // one buffer
           {{at + 200, 100, at, 300}, {200, 0}, 512},  // the input is a part of the output
           {{at, 300, at + 100, 100}, {0, 100}, 512},  // the output is a part of the input
           {{at, 300, at, 100}, {0, 0}, 512},          // the output is the first part
           {{nullptr, 0, at, 10}, {0, 0}, 256},        // no input
           {{at, 10, nullptr, 0}, {0, 256}, 256}}) {   // no output
    const StagingLayout layout = lay_out({c.ranges});
    CHECK(layout.places[0] == c.places);
    CHECK(layout.bytes == c.bytes);
  }
  const StagingLayout two = lay_out({{at, 10, at, 10}, {at, 20, at, 20}});
  CHECK(two.places[1] == StagedPlaces{256, 256});
  CHECK(two.bytes == 512);
}

}  // namespace
}  // namespace dt
