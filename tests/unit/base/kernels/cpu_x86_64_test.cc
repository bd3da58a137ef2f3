#include "base/kernels/half.h"
#include "tests/unit/base/kernels/kernel_arrays.h"

#include <doctest/doctest.h>

#include <immintrin.h>

#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>

namespace dt {
namespace {

/// The instructions that the kernel lists for this machine, by its own detection.
std::set<std::string> flags_of_cpu() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string flag; words >> flag;)
      flags.insert(flag);
    break;
  }
  return flags;
}

bool has_all(const std::set<std::string>& flags, const std::vector<std::string>& wanted) {
  for (const std::string& flag : wanted)
    if (!flags.contains(flag)) return false;
  return true;
}

TEST_CASE("kernels are usable exactly where the CPU has their instructions") {
  const std::set<std::string> flags = flags_of_cpu();
  REQUIRE(flags.contains("sse2"));
  const bool avx2 = has_all(flags, {"avx2", "f16c"});
  const bool avx512 = avx2 && has_all(flags, {"avx512f", "avx512bw", "avx512dq", "avx512vl"});
  CHECK((usable_kernels_named("avx512") == &avx512_kernels) == avx512);
  CHECK((usable_kernels_named("avx2") == &avx2_kernels) == avx2);
  CHECK(usable_kernels().back() == &portable_kernels);
  CHECK(usable_kernels().size() == size_t{1} + (avx2 ? 1 : 0) + (avx512 ? 1 : 0));
  if (avx512) CHECK(usable_kernels().front() == &avx512_kernels);
}

constexpr unsigned flush_to_zero = 0x8000;
constexpr unsigned denormals_are_zero = 0x0040;

TEST_CASE("subnormal numbers stay where the program flushes them to zero") {
  const unsigned before = _mm_getcsr();
  for (const KernelSet* set : usable_kernels()) {
    for (const ElementFormat& format : all_formats) {
      if (format.exponent_bits == 0) continue;
      CAPTURE(set->name);
      CAPTURE(static_cast<int>(format.type));
      constexpr size_t count = 37;
      // The bits of so many numbers from 1 on count in equal steps, also 2 further.
      const size_t numbers = (size_t{2} << format.mantissa_bits) - 2;
      ElementArray into(format, count, 0);
      ElementArray from(format, count, 0);
      for (size_t i = 0; i < count; ++i) {
        into.set(i, 1 + i % numbers);
        from.set(i, 2);
      }
      _mm_setcsr(before | flush_to_zero | denormals_are_zero);
      Reducer(format.type, ReduceOp::sum, *set).reduce(into.at(), from.at(), count);
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      CHECK(after == (before | flush_to_zero | denormals_are_zero));
      for (size_t i = 0; i < count; ++i)
        CHECK(into.get(i) == 3 + i % numbers);
    }
  }
}

TEST_CASE("an exception that the program does not mask is masked meanwhile") {
  const unsigned before = _mm_getcsr();
  float value = std::numeric_limits<float>::infinity();
  const float other = -value;
  _mm_setcsr(before & ~_MM_MASK_MASK);
  Reducer(ElementType::float32, ReduceOp::sum)
      .reduce(reinterpret_cast<std::byte*>(&value), reinterpret_cast<const std::byte*>(&other), 1);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(after == (before & ~_MM_MASK_MASK));
  CHECK(value != value);
}

TEST_CASE("a copy past the caches copies every length from and to any address") {
  const ElementFormat& bytes = all_formats[0];
  std::mt19937_64 random(5);
  for (size_t count = 0; count < 400; ++count) {
    for (const size_t offset : {0, 1, 31, 63}) {
      ElementArray from(bytes, count, offset * 5 % 64);
      from.fill(random);
      ElementArray to(bytes, count, offset);
      ElementArray expected(bytes, count, offset);
      copy_past_caches(to.at(), from.at(), count);
      if (count > 0) std::memcpy(expected.at(), from.at(), count);
      REQUIRE(to == expected);
    }
  }
}

}  // namespace
}  // namespace dt
