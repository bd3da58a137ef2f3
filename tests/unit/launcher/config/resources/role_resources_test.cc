#include "launcher/config/resources/role_resources.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("a number of GPUs is whole, or a fraction of which 1 is a multiple") {
  struct Row {
    const char* text;
    std::optional<GpuCount> count;
  };
  const Row rows[] = {
      {"0", GpuCount{0, 1}},      {"1", GpuCount{1, 1}},    {"16", GpuCount{16, 1}},
      {"0.5", GpuCount{0, 2}},    {"0.50", GpuCount{0, 2}}, {"0.25", GpuCount{0, 4}},
      {"0.125", GpuCount{0, 8}},  {"0.2", GpuCount{0, 5}},  {"0.3", std::nullopt},
      {"0.6", std::nullopt},      {"1.5", std::nullopt},    {"-1", std::nullopt},
      {"two", std::nullopt},      {"", std::nullopt},       {"0.", std::nullopt},
      {"0.0", std::nullopt},      {"0.-5", std::nullopt},   {"2000", std::nullopt},
      {"0.0000001", std::nullopt}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(parse_gpu_count(row.text) == row.count);
    if (row.count) CHECK(parse_gpu_count(row.count->text()) == row.count);
  }
  CHECK_FALSE(GpuCount{}.needs_gpus());
  CHECK(GpuCount{.whole = 0, .sharers = 2}.needs_gpus());
}

TEST_CASE("a size of memory has a unit, and its text gives it back") {
  CHECK(parse_memory("4G") == uint64_t{4} << 30);
  CHECK(parse_memory("1000") == 1000);
  for (const char* text : {"4 apples", "", "0", "-1", "4T", "G"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_memory(text));
  }
  for (const char* text : {"4G", "512M", "1025K", "100"})
    CHECK(memory_text(parse_memory(text).value()) == text);
}

TEST_CASE("the resources of a role are readable") {
  CHECK(RoleResources{}.text().empty());
  CHECK_FALSE(RoleResources{}.are_given());
  CHECK(RoleResources{.cpus = 4, .gpus = GpuCount{0, 2}, .memory_bytes = 1 << 30}.text() ==
        "cpus 4, gpus 0.5, memory 1G");
  CHECK(RoleResources{.gpus = GpuCount{}}.are_given());
}

}  // namespace
}  // namespace dt
