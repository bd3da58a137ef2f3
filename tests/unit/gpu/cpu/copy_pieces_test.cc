#include "tests/unit/gpu/cpu_devices.h"

#include <new>

namespace dt {
namespace {

TEST_CASE("copy_pieces packs tensors into a buffer of another type, and back") {
  const CpuDevices cpu({});
  DeviceStream& stream = cpu.stream(0);
  const DeviceBuffer a = on_device(stream, std::vector<float>{1, 2, 3});
  const DeviceBuffer b = on_device(stream, std::vector<float>{-4, 0.5F});
  const DeviceBuffer packed = on_device(stream, std::vector<uint16_t>(8, 0));
  CHECK(stream
            .copy_pieces({.from = CopyFormat::float32,
                          .to = CopyFormat::bfloat16,
                          .factor = 0.5,
                          .pieces = {{a.at(), packed.at(), 3}, {b.at(), packed.at() + 8, 2}}})
            .has_value());
  CHECK(values_of<uint16_t>(stream, packed, 6) ==
        std::vector<uint16_t>{0x3f00, 0x3f80, 0x3fc0, 0, 0xc000, 0x3e80});
  CHECK(stream
            .copy_pieces({.from = CopyFormat::bfloat16,
                          .to = CopyFormat::float32,
                          .pieces = {{packed.at(), b.at(), 2}, {packed.at() + 8, a.at(), 2}}})
            .has_value());
  CHECK(values_of<float>(stream, a, 3) == std::vector<float>{-2, 0.25F, 3});
  CHECK(values_of<float>(stream, b, 2) == std::vector<float>{0.5F, 1});
}

TEST_CASE("copy_pieces copies nothing when its flag is set before it runs") {
  Gate gate;
  const CpuDevices cpu({});
  DeviceStream& stream = cpu.stream(0);
  const DeviceBuffer flag = cpu.device(0).allocate_pinned(sizeof(uint32_t)).value();
  auto& word = *new (flag.at()) uint32_t(0);
  const DeviceBuffer from = on_device(stream, std::vector<float>{1, 2});
  const DeviceBuffer to = on_device(stream, std::vector<float>{0, 0});
  const auto copy_element = [&](size_t element) {
    const size_t at = element * sizeof(float);
    return stream.copy_pieces({.from = CopyFormat::float32,
                               .to = CopyFormat::float32,
                               .pieces = {{from.at() + at, to.at() + at, 1}},
                               .skip = &word});
  };
  CHECK(copy_element(0));
  CHECK(stream.synchronize(much_later()));
  CHECK(stream.run_on_host([&] { gate.pass(); }));
  CHECK(copy_element(1));
  word = 1;
  gate.open();
  CHECK(values_of<float>(stream, to, 2) == std::vector<float>{1, 0});
}

TEST_CASE("copy_pieces refuses a flag that a kernel cannot read") {
  const CpuDevices cpu({});
  const uint32_t pageable = 0;
  check_error(
      cpu.stream(0).copy_pieces({.skip = &pageable}), Errc::input,
      "cpu:0: copy: the flag lies in pageable memory of the host, which cpu:0 cannot access");
}

TEST_CASE("copy_pieces refuses a wrong batch, and memory that a kernel cannot use, at once") {
  const CpuDevices cpu({.count = 2, .peer_access = false});
  const DeviceBuffer here = on_device(cpu.stream(0), std::vector<float>(4, 1));
  const DeviceBuffer there = on_device(cpu.stream(1), std::vector<float>(4, 2));
  float pageable = 0;
  auto* const outside = reinterpret_cast<std::byte*>(&pageable);
  const auto refused = [&](CopyPiece piece, CopyFormat to) {
    const auto result = cpu.stream(0).copy_pieces(
        {.from = CopyFormat::float32, .to = to, .pieces = {{here.at(), here.at() + 4, 1}, piece}});
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code == Errc::input);
    return result.error().message;
  };
  CHECK(refused({here.at(), here.at() + 8, 1}, CopyFormat::bytes4) ==
        "cpu:0: copy: cannot copy: there is no cast between these formats");
  CHECK(refused({there.at(), here.at() + 8, 1}, CopyFormat::float32).find("piece 1") !=
        std::string::npos);
  CHECK(refused({here.at(), outside, 1}, CopyFormat::float32).find("piece 1") != std::string::npos);
  CHECK(refused({here.at(), here.at() + 12, 2}, CopyFormat::float32).find("piece 1") !=
        std::string::npos);
  CHECK(values_of<float>(cpu.stream(0), here, 4) == std::vector<float>(4, 1));
}

}  // namespace
}  // namespace dt
