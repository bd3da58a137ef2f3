#include "cmd/bench/measure.h"

#include "comm/include/dtrain/dtrain.h"
#include "gpu/devices/device_places.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace dt {
namespace {

/// A world of one rank, whose calls copy input to output. It can spoil results, or fail.
class CopyingWorld final : public CollectiveWorld {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string host() const override { return "node1"; }
  Result<> run(const CollectiveCall& call) override {
    ++calls;
    const size_t bytes = call.count * bytes_of(call.type);
    if (call.input != nullptr) std::memcpy(call.output, call.input, bytes);
    if (call.type != DTRAIN_FLOAT32) return {};
    ++measured;
    on_device += find_device_place(call.output) ? 1 : 0;
    in_place += call.input == nullptr ? 1 : 0;
    if (measured == fails_at) return fail(Errc::peer_lost, "rank 1 died");
    if (spoils) static_cast<std::byte*>(call.output)[bytes - 1] ^= std::byte{1};
    return {};
  }
  Result<> barrier() override {
    ++barriers;
    return {};
  }

  Result<void*> allocate(size_t bytes) override {
    memory.push_back(std::make_unique<Bytes>(bytes));
    return memory.back()->data();
  }
  void free(void* freed) override {
    std::erase_if(memory, [&](const auto& one) { return one->data() == freed; });
  }

  std::vector<std::unique_ptr<Bytes>> memory = {};
  bool spoils = false;
  int fails_at = 0;
  int calls = 0;
  int measured = 0;
  int in_place = 0;
  int on_device = 0;
  int barriers = 0;

 private:
  static size_t bytes_of(int number) {
    for (const BenchType& type : bench_types()) {
      if (type.number == number) return type.bytes;
    }
    return 0;
  }
};

SizeResult measured(CopyingWorld& world, const BenchOptions& options) {
  Measurement measurement(world, options);
  const auto shapes = measurement.shapes();
  REQUIRE(shapes);
  const auto result = measurement.measure(shapes->front());
  REQUIRE_MESSAGE(result, result.error().message);
  return *result;
}

TEST_CASE("a mode has one verified call, the warm-up, and the timed calls twice") {
  CopyingWorld world;
  const SizeResult result = measured(world, {.iterations = 7, .warmups = 3});
  CHECK(world.measured == 2 * (1 + 3 + 7 + 7));
  CHECK(world.in_place == world.measured / 2);
  // One before each of the single calls, one before the calls back to back, one a warm-up.
  CHECK(world.barriers == 2 * (3 + 7 + 1));
  REQUIRE(result.out_of_place);
  REQUIRE(result.in_place);
  CHECK(result.out_of_place->iterations == 7);
  CHECK(result.out_of_place->wrong == 0);
  CHECK(result.in_place->wrong == 0);
  CHECK(result.in_place->p99_us >= result.in_place->min_us);
}

TEST_CASE("the line for peers has the time in place, and any other where there is none") {
  CopyingWorld world;
  BenchOptions options = {.iterations = 1, .format = BenchFormat::peers};
  CHECK_FALSE(measured(world, options).out_of_place);
  options.operation = BenchOperation::reduce_scatter;
  const SizeResult scattered = measured(world, options);
  CHECK(scattered.out_of_place);
  CHECK_FALSE(scattered.in_place);
}

TEST_CASE("the buffers are the library's memory where that is chosen, and grow") {
  CopyingWorld world;
  const BenchOptions options = {.bytes_max = 4096, .iterations = 1, .buffers = "dtrain"};
  {
    Measurement measurement(world, options);
    const auto shapes = measurement.shapes().value();
    for (const CallShape& shape : {shapes.front(), shapes.back(), shapes.front()}) {
      const auto result = measurement.measure(shape);
      REQUIRE(result);
      CHECK(result->in_place->wrong == 0);
      CHECK(world.memory.size() == 2);
    }
    CHECK(world.memory.front()->size() == shapes.back().bytes);
  }
  CHECK(world.memory.empty());
  measured(world, {.iterations = 1});
  CHECK(world.memory.empty());
}

TEST_CASE("with a device the calls have its memory, and results are checked there") {
  const auto device = BenchDevice::open(0, {{"DTRAIN_CPU_DEVICES", "1"}}).value();
  const BenchOptions options = {.bytes_min = 4096, .bytes_max = 4096, .iterations = 1};
  for (const bool spoils : {false, true}) {
    CopyingWorld world;
    world.spoils = spoils;
    Measurement measurement(world, options, device.get());
    const auto result = measurement.measure(measurement.shapes().value().front());
    REQUIRE_MESSAGE(result, result.error().message);
    CHECK(result->out_of_place->wrong == (spoils ? 1 : 0));
    CHECK(result->in_place->wrong == (spoils ? 1 : 0));
    CHECK(world.measured > 0);
    CHECK(world.on_device == world.measured);
  }
  CopyingWorld on_host;
  measured(on_host, options);
  CHECK(on_host.on_device == 0);
}

TEST_CASE("a time for each size decides the calls, within -n") {
  CopyingWorld world;
  const SizeResult result = measured(world, {.iterations = 50, .ms_per_size = 1000});
  CHECK(result.in_place->iterations == 50);
}

TEST_CASE("wrong elements are counted in both modes") {
  CopyingWorld world;
  world.spoils = true;
  const SizeResult result = measured(world, {.iterations = 1});
  CHECK(result.out_of_place->wrong == 1);
  CHECK(result.in_place->wrong == 1);
}

TEST_CASE("a failed call ends the measurement with its reason") {
  CopyingWorld world;
  world.fails_at = 4;
  const BenchOptions options = {.iterations = 9};
  Measurement measurement(world, options);
  const auto result = measurement.measure(measurement.shapes().value().front());
  REQUIRE_FALSE(result);
  CHECK(result.error() == Error{Errc::peer_lost, "rank 1 died"});
  CHECK(world.measured == 4);
}

TEST_CASE("sizes without an element of each rank are left out, and one must remain") {
  CopyingWorld world;
  const BenchOptions some = {.bytes_min = 1, .bytes_max = 8, .type = "float32"};
  const auto shapes = Measurement(world, some).shapes();
  REQUIRE(shapes);
  CHECK(shapes->size() == 2);
  const BenchOptions none = {.bytes_min = 1, .bytes_max = 3};
  const auto refused = Measurement(world, none).shapes();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "bench: no size up to -e 3 has room for 1 element(s) of float32; give a larger -e");
  const BenchOptions alone = {.operation = BenchOperation::latency};
  CHECK(Measurement(world, alone).shapes().error().message.ends_with("give -np 2"));
}

}  // namespace
}  // namespace dt
