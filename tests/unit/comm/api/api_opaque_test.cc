// Elements without arithmetic, which the caller names.
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {
namespace {

/// 12 bytes, whose size is no power of two.
struct Pixel {
  std::array<float, 3> parts = {};
  bool operator==(const Pixel&) const = default;
};

std::vector<World::Options> worlds() {
  return {{.size = 3, .per_host = 3},
          {.size = 3, .per_host = 3, .transport = dtrain::Transport::tcp},
          {.size = 3, .per_host = 2}};
}

dtrain_op_options described(const char* element, size_t bytes) {
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  options.element = element;
  options.element_bytes = bytes;
  return options;
}

const dtrain_op_options pixels = described("pixel", sizeof(Pixel));

Pixel pixel(int rank, size_t i) {
  return {{static_cast<float>(rank), static_cast<float>(i), 7}};
}

std::vector<Pixel> pixels_of(int rank, size_t count) {
  std::vector<Pixel> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(pixel(rank, i));
  return values;
}

TEST_CASE("opaque elements are broadcast, gathered, scattered and exchanged whole") {
  for (const World::Options& options : worlds()) {
    World world(options);
    check_all_well(world.run([](dtrain::Context& context) {
      const int rank = context.rank();
      const auto size = static_cast<size_t>(context.size());
      for (const size_t count : {size_t{1}, size_t{1000}, size_t{30'000}}) {
        std::vector<Pixel> values = pixels_of(rank, count);
        CHECK(dtrain_broadcast(context.get(), {nullptr, values.data(), count, DTRAIN_OPAQUE}, 1,
                               &pixels, nullptr) == DTRAIN_OK);
        CHECK(values == pixels_of(1, count));
        // In place: this rank's part of the output is the input.
        std::vector<Pixel> all(count * size);
        for (size_t i = 0; i < count; ++i)
          all[static_cast<size_t>(rank) * count + i] = pixel(rank, i);
        CHECK(dtrain_all_gather(context.get(), {nullptr, all.data(), count, DTRAIN_OPAQUE}, &pixels,
                                nullptr) == DTRAIN_OK);
        for (size_t i = 0; i < all.size(); i += count / 3 + 1)
          CHECK(all[i] == pixel(static_cast<int>(i / count), i % count));
        std::vector<Pixel> exchanged = pixels_of(rank, count * size);
        CHECK(dtrain_all_to_all(context.get(), {nullptr, exchanged.data(), count, DTRAIN_OPAQUE},
                                &pixels, nullptr) == DTRAIN_OK);
        CHECK(exchanged[2 * count] == pixel(2, static_cast<size_t>(rank) * count));
      }
    }));
  }
}

TEST_CASE("the counts of ragged results are in opaque elements") {
  for (const World::Options& options : worlds()) {
    World world(options);
    check_all_well(world.run([](dtrain::Context& context) {
      const auto rank = static_cast<size_t>(context.rank());
      const std::vector<Pixel> own = pixels_of(context.rank(), rank + 1);
      for (const char* name : {"", "named"}) {
        dtrain_op_options options_here = pixels;
        options_here.name = name;
        dtrain_work* work = nullptr;
        CHECK(dtrain_all_gather_v(context.get(), {own.data(), nullptr, rank + 1, DTRAIN_OPAQUE},
                                  &work, &options_here, nullptr) == DTRAIN_OK);
        dtrain_result result = {};
        result.struct_size = sizeof result;
        REQUIRE(dtrain_work_result(work, &result, nullptr) == DTRAIN_OK);
        CHECK(result.type == DTRAIN_OPAQUE);
        CHECK(result.count == 6);
        CHECK(result.counts[2] == 3);
        CHECK(static_cast<const Pixel*>(result.data)[5] == pixel(2, 2));
        dtrain_work_free(work);
      }
      const std::array<size_t, 3> counts = {0, 2, rank};
      const std::vector<Pixel> sent = pixels_of(context.rank(), 2 + rank);
      const dtrain_split_buffers buffers = {sizeof buffers, sent.data(), counts.data(),
                                            DTRAIN_OPAQUE, DTRAIN_SUM};
      dtrain_work* work = nullptr;
      CHECK(dtrain_all_to_all_v(context.get(), &buffers, &work, &pixels, nullptr) == DTRAIN_OK);
      dtrain_result result = {};
      result.struct_size = sizeof result;
      REQUIRE(dtrain_work_result(work, &result, nullptr) == DTRAIN_OK);
      CHECK(result.count == (rank == 0 ? 0 : rank == 1 ? 6 : 3));
      dtrain_work_free(work);
    }));
  }
}

TEST_CASE("opaque elements are sent and received, and their names compared") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    std::vector<Pixel> values = pixels_of(context.rank(), 5);
    dtrain_error error = new_error();
    const dtrain_buffers input = {values.data(), nullptr, 5, DTRAIN_OPAQUE};
    const dtrain_buffers output = {nullptr, values.data(), 5, DTRAIN_OPAQUE};
    const dtrain_op_options voxels = described("voxel", sizeof(Pixel));
    if (context.rank() == 0) {
      CHECK(dtrain_send(context.get(), input, 1, &pixels, &error) == DTRAIN_OK);
      CHECK(dtrain_send(context.get(), input, 1, &pixels, &error) == DTRAIN_ERROR_MISMATCH);
    } else {
      CHECK(dtrain_recv(context.get(), output, 0, &pixels, &error) == DTRAIN_OK);
      CHECK(values == pixels_of(0, 5));
      CHECK(dtrain_recv(context.get(), output, 0, &voxels, &error) == DTRAIN_ERROR_MISMATCH);
    }
    CHECK_MESSAGE(contains(error.text, "rank 0 sent pixel[5], rank 1 receives voxel[5]"),
                  error.text);
  }));
}

/// Calls all_gather with the options of a rank, and returns the error of rank 0.
std::string mismatch(const dtrain_op_options& one, const dtrain_op_options& others,
                     dtrain_type type) {
  World world({.size = 3, .per_host = 3});
  const auto outcomes = world.run([&](dtrain::Context& context) {
    const bool odd = context.rank() == 1;
    std::vector<std::byte> memory(1000);
    dtrain_error error = new_error();
    CHECK(dtrain_all_gather(context.get(), {nullptr, memory.data(), 2, odd ? DTRAIN_OPAQUE : type},
                            odd ? &one : &others, &error) == DTRAIN_ERROR_MISMATCH);
    throw dtrain::Error(error);
  });
  return outcomes[0].text;
}

TEST_CASE("ranks with other elements are named") {
  const dtrain_op_options complex64 = described("complex64", 8);
  const dtrain_op_options none = described(nullptr, 0);
  CHECK(contains(mismatch(complex64, described("complex128", 16), DTRAIN_OPAQUE),
                 "rank 1 sent complex64[2], others complex128[2]"));
  CHECK(contains(mismatch(complex64, described("complex64", 4), DTRAIN_OPAQUE),
                 "rank 1 sent \"complex64\" of 8 bytes, others \"complex64\" of 4 bytes"));
  CHECK(contains(mismatch(complex64, none, DTRAIN_UINT8),
                 "rank 1 sent complex64[2], others uint8[2]"));
}

TEST_CASE("shapes count opaque elements") {
  const Alone alone;
  std::array<std::complex<float>, 6> values = {};
  const std::array<size_t, 2> shape = {2, 3};
  dtrain_op_options options = described("complex64", 8);
  options.shape = shape.data();
  options.dims = 2;
  dtrain_error error = new_error();
  CHECK(dtrain_broadcast(alone.context, {nullptr, values.data(), 6, DTRAIN_OPAQUE}, 0, &options,
                         &error) == DTRAIN_OK);
  options.dims = 1;
  CHECK(dtrain_broadcast(alone.context, {nullptr, values.data(), 6, DTRAIN_OPAQUE}, 0, &options,
                         &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "the shape complex64[2] does not have the 6 elements of the call"));
}

TEST_CASE("wrong descriptions of opaque elements are named") {
  const Alone alone;
  std::array<std::byte, 64> memory = {};
  struct Case {
    const char* element;
    size_t bytes;
    dtrain_type type;
    size_t count;
    const char* text;
  };
  const std::string longest(32, 'x');
  const std::string longer(33, 'x');
  const Case cases[] = {
      {nullptr, 0, DTRAIN_OPAQUE, 1, "DTRAIN_OPAQUE needs dtrain_op_options.element"},
      {"c", 0, DTRAIN_OPAQUE, 1, "dtrain_op_options.element_bytes is 0; give 1 to 1048576"},
      {"c", (1 << 20) + 1, DTRAIN_OPAQUE, 1, "element_bytes is 1048577; give 1 to 1048576"},
      {nullptr, 8, DTRAIN_OPAQUE, 1, "dtrain_op_options.element must have 1 to 32 bytes"},
      {longer.c_str(), 8, DTRAIN_OPAQUE, 1, "dtrain_op_options.element must have 1 to 32 bytes"},
      {"c", 8, DTRAIN_FLOAT32, 1, "element and element_bytes are of DTRAIN_OPAQUE alone"},
      {"c", 1 << 20, DTRAIN_OPAQUE, SIZE_MAX / 4, "is too large"},
      {longest.c_str(), 8, DTRAIN_OPAQUE, 1, ""},
  };
  for (const Case& c : cases) {
    const dtrain_op_options options = described(c.element, c.bytes);
    dtrain_error error = new_error();
    const int status = dtrain_broadcast(alone.context, {nullptr, memory.data(), c.count, c.type}, 0,
                                        &options, &error);
    CHECK(status == (c.text[0] == '\0' ? DTRAIN_OK : DTRAIN_ERROR_INPUT));
    CHECK_MESSAGE(contains(error.text, c.text), error.text);
  }
  dtrain_error error = new_error();
  const dtrain_op_options options = described("c", 8);
  CHECK(dtrain_all_reduce(alone.context, {nullptr, memory.data(), 2, DTRAIN_OPAQUE}, DTRAIN_SUM,
                          &options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "all_reduce adds its elements, but those of \"c\" are opaque"));
  CHECK(dtrain_barrier(alone.context, &options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "a barrier has no elements"));
  CHECK(dtrain_store_erase(alone.context, "k", nullptr, &options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "compression, element, priority and stream"));
}

}  // namespace
}  // namespace dt
