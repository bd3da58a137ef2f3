#include "base/kernels/cpu.h"

#include <cpuid.h>
#include <immintrin.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace dt {

namespace {

struct Features {
  bool avx2 = false;
  bool avx512 = false;
};

/// The registers that the operating system saves, as bits of XCR0.
__attribute__((target("xsave"))) uint64_t saved_registers() {
  return _xgetbv(0);
}

// With __builtin_cpu_supports, libgcc would ask the CPU at the start of each program. On a virtual
// machine each question costs microseconds, and a launcher needs no answer.
Features find_features() {
  constexpr uint64_t avx_registers = 0x6;
  constexpr uint64_t avx512_registers = 0xe6;
  constexpr unsigned avx512_bits = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return {};
  if ((ecx & bit_OSXSAVE) == 0 || (ecx & bit_F16C) == 0) return {};
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return {};
  const uint64_t saved = saved_registers();
  const bool avx2 = (ebx & bit_AVX2) != 0 && (saved & avx_registers) == avx_registers;
  return {.avx2 = avx2,
          .avx512 = avx2 && (ebx & avx512_bits) == avx512_bits &&
                    (saved & avx512_registers) == avx512_registers};
}

struct UsableKernels {
  std::array<const KernelSet*, 3> sets = {};
  size_t count = 0;
};

UsableKernels find_usable() {
  UsableKernels usable;
  const Features features = find_features();
  if (features.avx512) usable.sets[usable.count++] = &avx512_kernels;
  if (features.avx2) usable.sets[usable.count++] = &avx2_kernels;
  usable.sets[usable.count++] = &portable_kernels;
  return usable;
}

constexpr unsigned default_mxcsr = 0x1f80;  // nearest even, all exceptions masked, no flag set
constexpr unsigned exception_flags = 0x3f;

}  // namespace

std::span<const KernelSet* const> usable_kernels() {
  static const UsableKernels usable = find_usable();
  return {usable.sets.data(), usable.count};
}

// std::fesetenv would also load the registers of the x87, which no kernel uses and which takes
// long. A write of the register takes several times longer than a read.
DefaultRounding::DefaultRounding() : saved_{} {
  saved_.__mxcsr = _mm_getcsr();
  if ((saved_.__mxcsr & ~exception_flags) != default_mxcsr) _mm_setcsr(default_mxcsr);
}

DefaultRounding::~DefaultRounding() {
  if (_mm_getcsr() != saved_.__mxcsr) _mm_setcsr(saved_.__mxcsr);
}

void copy_past_caches(std::byte* to, const std::byte* from, size_t bytes) {
  constexpr size_t line = 64;
  const size_t misaligned = reinterpret_cast<uintptr_t>(to) % line;
  const size_t head = misaligned == 0 ? 0 : line - misaligned;
  if (bytes < head + line) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, head);
  size_t i = head;
  for (; bytes - i >= line; i += line) {
    const auto* source = reinterpret_cast<const __m128i*>(from + i);
    auto* target = reinterpret_cast<__m128i*>(to + i);
    const __m128i first = _mm_loadu_si128(source);
    const __m128i second = _mm_loadu_si128(source + 1);
    const __m128i third = _mm_loadu_si128(source + 2);
    const __m128i fourth = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, first);
    _mm_stream_si128(target + 1, second);
    _mm_stream_si128(target + 2, third);
    _mm_stream_si128(target + 3, fourth);
  }
  // Other stores may overtake these, until this instruction.
  _mm_sfence();
  std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace dt
