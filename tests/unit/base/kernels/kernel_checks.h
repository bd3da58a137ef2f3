#pragma once

#include "tests/unit/base/kernels/kernel_arrays.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {

/// Compares a set of kernels with the portable one, on equal arrays.
class KernelComparison {
 public:
  explicit KernelComparison(const KernelSet& set) : set_(set) {}

  /// Every count to 130 leaves every number of elements after the widest registers.
  void compare_all() {
    for (const ElementFormat& format : all_formats) {
      CAPTURE(static_cast<int>(format.type));
      for (const ReduceOp op : operations_of(format)) {
        CAPTURE(static_cast<int>(op));
        for (size_t count = 0; count <= 130; ++count)
          for (const size_t offset : {0, 1, 3})
            compare(format, op, count, offset);
        compare(format, op, 5000, 1);
      }
    }
  }

  /// Each special value with each.
  void compare_specials() {
    for (const ElementFormat& format : all_formats) {
      CAPTURE(static_cast<int>(format.type));
      const std::vector<uint64_t> specials = special_bits(format);
      const size_t count = specials.size() * specials.size();
      ElementArray a(format, count, 0);
      ElementArray b(format, count, 0);
      for (size_t i = 0; i < count; ++i) {
        a.set(i, specials[i / specials.size()]);
        b.set(i, specials[i % specials.size()]);
      }
      for (const ReduceOp op : operations_of(format)) {
        compare_pairs(format, op, {a, b, count, 0});
        compare_many(format, op, {a, b, count, 0});
      }
    }
  }

  /// Each 16-bit float alone: it becomes a float32, is divided, and comes back. Each 8-bit one with
  /// each other.
  void compare_conversions() {
    for (const ElementFormat& format : all_formats) {
      if (format.bytes > 2) continue;
      constexpr size_t count = 65536;
      ElementArray all(format, count, 0);
      ElementArray next(format, count, 0);
      for (size_t i = 0; i < count; ++i) {
        all.set(i, i);
        next.set(i, format.bytes == 1 ? i / 256 : i + 1);
      }
      // The half of two neighbours lies between two results: it must go to the even one.
      for (const ReduceOp op : operations_of(format)) {
        compare_many(format, op, {all, next, count, 0});
        compare_pairs(format, op, {all, next, count, 0});
      }
      compare_divisions(format, all, count);
    }
  }

 private:
  struct Inputs {
    const ElementArray& a;
    const ElementArray& b;
    size_t count;
    size_t offset;  ///< of the results
  };

  void compare(const ElementFormat& format, ReduceOp op, size_t count, size_t offset) {
    CAPTURE(count);
    CAPTURE(offset);
    ElementArray a(format, count, offset);
    ElementArray b(format, count, offset * 2 % 5);
    a.fill(random_);
    b.fill(random_);
    compare_pairs(format, op, {a, b, count, offset * 3 % 7});
    compare_many(format, op, {a, b, count, offset * 3 % 7});
    compare_divisions(format, a, count);
  }

  void compare_pairs(const ElementFormat& format, ReduceOp op, const Inputs& in) {
    const Reducer reducer(format.type, op, set_);
    const Reducer portable(format.type, op, portable_kernels);
    ElementArray expected(format, in.count, in.offset);
    portable.combine({expected.at()}, in.a.at(), in.b.at(), in.count);
    ElementArray into(format, in.count, in.offset);
    reducer.combine({into.at()}, in.a.at(), in.b.at(), in.count);
    REQUIRE(into == expected);
    ElementArray also(format, in.count, in.offset);
    ElementArray both(format, in.count, in.offset);
    reducer.combine({both.at(), also.at()}, in.a.at(), in.b.at(), in.count);
    REQUIRE(both == expected);
    REQUIRE(also == expected);
    compare_in_place(format, op, in);
  }

  void compare_in_place(const ElementFormat& format, ReduceOp op, const Inputs& in) {
    const Reducer reducer(format.type, op, set_);
    const Reducer portable(format.type, op, portable_kernels);
    ElementArray left = in.a;
    ElementArray expected = in.a;
    reducer.reduce(left.at(), in.b.at(), in.count);
    portable.combine({expected.at()}, in.a.at(), in.b.at(), in.count);
    REQUIRE(left == expected);
    ElementArray right = in.b;
    ElementArray expected_right = in.b;
    reducer.combine({right.at()}, in.a.at(), right.at(), in.count);
    portable.combine({expected_right.at()}, in.a.at(), in.b.at(), in.count);
    REQUIRE(right == expected_right);
  }

  void compare_many(const ElementFormat& format, ReduceOp op, const Inputs& in) {
    const Reducer reducer(format.type, op, set_);
    const Reducer portable(format.type, op, portable_kernels);
    const std::vector<const std::byte*> sources = {in.a.at(), in.b.at(), in.b.at(), in.a.at(),
                                                   in.a.at()};
    for (const size_t n : {1, 2, 3, 5}) {
      const std::span<const std::byte* const> some(sources.data(), n);
      const int divisor = n == 5 ? 200 : static_cast<int>(n);
      CAPTURE(n);
      ElementArray expected(format, in.count, in.offset);
      portable.reduce_many({expected.at()}, some, in.count, divisor);
      ElementArray into(format, in.count, in.offset);
      reducer.reduce_many({into.at()}, some, in.count, divisor);
      REQUIRE(into == expected);
      ElementArray also(format, in.count, in.offset);
      ElementArray both(format, in.count, in.offset);
      reducer.reduce_many({both.at(), also.at()}, some, in.count, divisor);
      REQUIRE(both == expected);
      REQUIRE(also == expected);
    }
  }

  void compare_divisions(const ElementFormat& format, const ElementArray& values, size_t count) {
    if (format.type == ElementType::boolean) return;
    for (const int divisor : {1, 2, 3, 300}) {
      CAPTURE(divisor);
      ElementArray divided = values;
      ElementArray expected = values;
      divide(set_, format.type, divided.at(), count, divisor);
      divide(portable_kernels, format.type, expected.at(), count, divisor);
      REQUIRE(divided == expected);
    }
  }

  const KernelSet& set_;
  std::mt19937_64 random_{7};
};

/// Compares the kernels of this name with the portable ones, or reports that this CPU cannot run
/// them.
inline void compare_with_portable(const char* name) {
  const KernelSet* set = usable_kernels_named(name);
  if (set == nullptr) {
    MESSAGE("skipped: this CPU cannot run the kernels ", std::string(name));
    return;
  }
  KernelComparison comparison(*set);
  SUBCASE("on random arrays") {
    comparison.compare_all();
  }
  SUBCASE("on all pairs of special values") {
    comparison.compare_specials();
  }
  SUBCASE("on every 16-bit float, and every pair of 8-bit ones") {
    comparison.compare_conversions();
  }
}

}  // namespace dt
