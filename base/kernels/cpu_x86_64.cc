#include "base/kernels/cpu.h"

#include <cpuid.h>
#include <immintrin.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace dt {

namespace {

// __builtin_cpu_supports also asks whether the operating system saves the registers. In clang
// 14 it does not know "f16c". With AVX2, the bit of the CPU is enough.

bool has_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && has_f16c();
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

struct UsableKernels {
  std::array<const KernelSet*, 3> sets = {};
  size_t count = 0;
};

UsableKernels find_usable() {
  UsableKernels usable;
  if (has_avx512()) usable.sets[usable.count++] = &avx512_kernels;
  if (has_avx2()) usable.sets[usable.count++] = &avx2_kernels;
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
