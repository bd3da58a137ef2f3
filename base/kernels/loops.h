#pragma once

#include "base/kernels/kernel_set.h"
#include "base/kernels/lanes.h"

#include <cstddef>
#include <type_traits>

namespace dt {

// As in lanes.h, `Isa` belongs to one file, and with it each instance of these templates.

/// How many elements a full register holds, and a small one for the remainder. A float16 and an
/// 8-bit float take the place of the float32 as which they are computed.
template <class Isa, class T>
struct RegisterLanes {
  static constexpr bool widens =
      std::is_same_v<T, Float16> || std::is_same_v<T, Float8E4M3> || std::is_same_v<T, Float8E5M2>;
  static constexpr size_t full = Isa::register_bytes / (widens ? sizeof(float) : sizeof(T));
  static constexpr size_t small = 16 / sizeof(T);
};

/// Runs `step` over `count` elements: several registers at once, one, a small one, single elements.
template <class Isa, class T, class Step>
[[gnu::always_inline]] inline void run_steps(size_t count, const Step& step) {
  constexpr size_t full = RegisterLanes<Isa, T>::full;
  constexpr size_t small = RegisterLanes<Isa, T>::small;
  size_t i = 0;
  constexpr size_t block = Isa::block_registers * full;
  for (; count - i >= block; i += block)
    step.template run<full, Isa::block_registers>(i);
  for (; count - i >= full; i += full)
    step.template run<full, 1>(i);
  if constexpr (small < full) {
    for (; count - i >= small; i += small)
      step.template run<small, 1>(i);
  }
  for (; i < count; ++i)
    step.template run<1, 1>(i);
}

/// All elements of a step are loaded before the first is stored. So a destination may be a source.
template <class Isa, class T, ReduceOp op, bool publish>
struct CombineStep {
  Destination to;
  const std::byte* a;
  const std::byte* b;

  template <size_t n, size_t registers>
  [[gnu::always_inline]] void run(size_t i) const {
    using L = Lanes<Isa, T, n>;
    typename L::Value results[registers];
    for (size_t r = 0; r < registers; ++r) {
      const size_t at = (i + r * n) * sizeof(T);
      results[r] = L::template apply<op>(L::load(a + at), L::load(b + at));
    }
    for (size_t r = 0; r < registers; ++r) {
      const size_t at = (i + r * n) * sizeof(T);
      L::store(to.into + at, results[r]);
      if constexpr (publish) L::store(to.also + at, results[r]);
    }
  }
};

template <class Isa, class T, ReduceOp op, bool publish>
struct ReduceManyStep {
  Destination to;
  SourceList sources;
  int divisor;

  template <size_t n, size_t registers>
  [[gnu::always_inline]] void run(size_t i) const {
    using L = Lanes<Isa, T, n>;
    typename L::Value results[registers];
    for (size_t r = 0; r < registers; ++r)
      results[r] = L::load(sources.arrays[0] + (i + r * n) * sizeof(T));
    for (size_t s = 1; s < sources.count; ++s) {
      const std::byte* from = sources.arrays[s] + i * sizeof(T);
      for (size_t r = 0; r < registers; ++r)
        results[r] = L::template apply<op>(results[r], L::load(from + r * n * sizeof(T)));
    }
    for (size_t r = 0; r < registers; ++r) {
      const size_t at = (i + r * n) * sizeof(T);
      if constexpr (op == ReduceOp::average) results[r] = L::quotient(results[r], divisor);
      L::store(to.into + at, results[r]);
      if constexpr (publish) L::store(to.also + at, results[r]);
    }
  }
};

template <class Isa, class T>
struct DivideStep {
  std::byte* elements;
  int divisor;

  template <size_t n, size_t registers>
  [[gnu::always_inline]] void run(size_t i) const {
    using L = Lanes<Isa, T, n>;
    for (size_t r = 0; r < registers; ++r) {
      std::byte* at = elements + (i + r * n) * sizeof(T);
      L::store(at, L::quotient(L::load(at), divisor));
    }
  }
};

template <class Isa, class T>
struct ScaleStep {
  std::byte* to;
  const std::byte* from;
  double factor;

  template <size_t n, size_t registers>
  [[gnu::always_inline]] void run(size_t i) const {
    using L = Lanes<Isa, T, n>;
    for (size_t r = 0; r < registers; ++r) {
      const size_t at = (i + r * n) * sizeof(T);
      L::store(to + at, L::scaled(L::load(from + at), factor));
    }
  }
};

template <class Isa, class Half>
struct NarrowStep {
  std::byte* to;
  const std::byte* from;

  template <size_t n, size_t registers>
  [[gnu::always_inline]] void run(size_t i) const {
    for (size_t at = i; at < i + registers * n; at += n)
      HalfCast<Isa, Half, n>::narrow(to + at * sizeof(Half), from + at * sizeof(float));
  }
};

template <class Isa, class Half>
struct WidenStep {
  std::byte* to;
  const std::byte* from;

  template <size_t n, size_t registers>
  [[gnu::always_inline]] void run(size_t i) const {
    for (size_t at = i; at < i + registers * n; at += n)
      HalfCast<Isa, Half, n>::widen(to + at * sizeof(float), from + at * sizeof(Half));
  }
};

template <class Isa>
struct CopyBytesStep {
  std::byte* to;
  const std::byte* from;

  template <size_t n, size_t registers>
  [[gnu::always_inline]] void run(size_t i) const {
    using L = Lanes<Isa, uint8_t, n>;
    typename L::Value values[registers];
    for (size_t r = 0; r < registers; ++r)
      values[r] = L::load(from + i + r * n);
    for (size_t r = 0; r < registers; ++r)
      L::store(to + i + r * n, values[r]);
  }
};

template <class Isa>
void copy_loop(std::byte* to, const std::byte* from, size_t bytes) {
  run_steps<Isa, uint8_t>(bytes, CopyBytesStep<Isa>{to, from});
}

template <class Isa, class Half>
void narrow_loop(std::byte* to, const std::byte* from, size_t count) {
  run_steps<Isa, Float16>(count, NarrowStep<Isa, Half>{to, from});
}

template <class Isa, class Half>
void widen_loop(std::byte* to, const std::byte* from, size_t count) {
  run_steps<Isa, Float16>(count, WidenStep<Isa, Half>{to, from});
}

template <class Isa, class T, ReduceOp op, bool publish>
void combine_loop(Destination to, const std::byte* a, const std::byte* b, size_t count) {
  run_steps<Isa, T>(count, CombineStep<Isa, T, op, publish>{to, a, b});
}

template <class Isa, class T, ReduceOp op, bool publish>
void reduce_many_loop(Destination to, SourceList sources, size_t count, int divisor) {
  run_steps<Isa, T>(count, ReduceManyStep<Isa, T, op, publish>{to, sources, divisor});
}

template <class Isa, class T>
void divide_loop(std::byte* elements, size_t count, int divisor) {
  run_steps<Isa, T>(count, DivideStep<Isa, T>{elements, divisor});
}

template <class Isa, class T>
void scale_loop(std::byte* to, const std::byte* from, size_t count, double factor) {
  run_steps<Isa, T>(count, ScaleStep<Isa, T>{to, from, factor});
}

template <class Isa, class T, ReduceOp op>
consteval ReduceLoops reduce_loops() {
  // Integers of one size have the same sums and products, and a pair's average is its sum.
  constexpr bool wraps = std::is_integral_v<T> && op != ReduceOp::min && op != ReduceOp::max;
  using Bits = std::conditional_t<wraps, UnsignedOfBytes<sizeof(T)>, T>;
  constexpr ReduceOp pair_op = op == ReduceOp::average ? ReduceOp::sum : op;
  using Summed = std::conditional_t<op == ReduceOp::average, T, Bits>;
  return {combine_loop<Isa, Bits, pair_op, false>, combine_loop<Isa, Bits, pair_op, true>,
          reduce_many_loop<Isa, Summed, op, false>, reduce_many_loop<Isa, Summed, op, true>};
}

template <class Isa, class T>
consteval void add_type(KernelSet& set, ElementType type) {
  const auto row = static_cast<size_t>(type);
  set.loops[row][static_cast<size_t>(ReduceOp::sum)] = reduce_loops<Isa, T, ReduceOp::sum>();
  set.loops[row][static_cast<size_t>(ReduceOp::min)] = reduce_loops<Isa, T, ReduceOp::min>();
  set.loops[row][static_cast<size_t>(ReduceOp::max)] = reduce_loops<Isa, T, ReduceOp::max>();
  set.loops[row][static_cast<size_t>(ReduceOp::product)] =
      reduce_loops<Isa, T, ReduceOp::product>();
  if constexpr (!std::is_same_v<T, Boolean>) {
    set.loops[row][static_cast<size_t>(ReduceOp::average)] =
        reduce_loops<Isa, T, ReduceOp::average>();
    set.divide[row] = divide_loop<Isa, T>;
    set.scale[row] = scale_loop<Isa, T>;
  }
}

template <class Isa, class Half>
consteval void add_casts(KernelSet& set, ElementType type) {
  set.narrow[static_cast<size_t>(type)] = narrow_loop<Isa, Half>;
  set.widen[static_cast<size_t>(type)] = widen_loop<Isa, Half>;
}

template <class Isa>
consteval KernelSet make_kernel_set(const char* name) {
  KernelSet set;
  set.name = name;
  add_type<Isa, int8_t>(set, ElementType::int8);
  add_type<Isa, uint8_t>(set, ElementType::uint8);
  add_type<Isa, int32_t>(set, ElementType::int32);
  add_type<Isa, uint32_t>(set, ElementType::uint32);
  add_type<Isa, int64_t>(set, ElementType::int64);
  add_type<Isa, uint64_t>(set, ElementType::uint64);
  add_type<Isa, Float16>(set, ElementType::float16);
  add_type<Isa, BFloat16>(set, ElementType::bfloat16);
  add_type<Isa, float>(set, ElementType::float32);
  add_type<Isa, double>(set, ElementType::float64);
  add_type<Isa, int16_t>(set, ElementType::int16);
  add_type<Isa, uint16_t>(set, ElementType::uint16);
  add_type<Isa, Boolean>(set, ElementType::boolean);
  add_type<Isa, Float8E4M3>(set, ElementType::float8_e4m3);
  add_type<Isa, Float8E5M2>(set, ElementType::float8_e5m2);
  add_casts<Isa, Float16>(set, ElementType::float16);
  add_casts<Isa, BFloat16>(set, ElementType::bfloat16);
  add_casts<Isa, Float8E4M3>(set, ElementType::float8_e4m3);
  add_casts<Isa, Float8E5M2>(set, ElementType::float8_e5m2);
  set.copy = copy_loop<Isa>;
  return set;
}

}  // namespace dt
