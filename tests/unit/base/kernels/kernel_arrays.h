#pragma once

#include "base/kernels/cpu.h"
#include "base/kernels/reducer.h"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace dt {

/// An element type by the numbers of its format; integers have no exponent.
struct ElementFormat {
  ElementType type;
  size_t bytes;
  int exponent_bits;
  int mantissa_bits;
};

constexpr ElementFormat all_formats[] = {
    {ElementType::int8, 1, 0, 0},        {ElementType::uint8, 1, 0, 0},
    {ElementType::int32, 4, 0, 0},       {ElementType::uint32, 4, 0, 0},
    {ElementType::int64, 8, 0, 0},       {ElementType::uint64, 8, 0, 0},
    {ElementType::float16, 2, 5, 10},    {ElementType::bfloat16, 2, 8, 7},
    {ElementType::float32, 4, 8, 23},    {ElementType::float64, 8, 11, 52},
    {ElementType::int16, 2, 0, 0},       {ElementType::uint16, 2, 0, 0},
    {ElementType::boolean, 1, 0, 0},     {ElementType::float8_e4m3, 1, 4, 3},
    {ElementType::float8_e5m2, 1, 5, 2},
};
static_assert(std::size(all_formats) == element_type_count);
constexpr ReduceOp all_operations[] = {ReduceOp::sum, ReduceOp::min, ReduceOp::max,
                                       ReduceOp::product, ReduceOp::average};

/// Booleans have no average.
inline std::span<const ReduceOp> operations_of(const ElementFormat& format) {
  const std::span all(all_operations);
  return format.type == ElementType::boolean ? all.first(4) : all;
}

/// The kernels of this name, or null where this CPU lacks the instructions.
inline const KernelSet* usable_kernels_named(std::string_view name) {
  for (const KernelSet* set : usable_kernels())
    if (set->name == name) return set;
  return nullptr;
}

/// Bits of zeros, subnormals, infinities, NaN with payloads, and of the values beside them.
inline std::vector<uint64_t> special_bits(const ElementFormat& format) {
  const auto bits = static_cast<int>(format.bytes * 8);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  if (format.exponent_bits == 0) return {0, 1, 2, 127, sign - 1, sign, sign + 1, ~uint64_t{0}};
  const uint64_t normal = uint64_t{1} << format.mantissa_bits;
  const uint64_t infinity = ((uint64_t{1} << format.exponent_bits) - 1) * normal;
  const uint64_t one = ((uint64_t{1} << (format.exponent_bits - 1)) - 1) * normal;
  std::vector<uint64_t> all;
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{1}, normal - 1, normal, normal + 1, one, one + 1, one + normal,
        infinity - 1, infinity, infinity + 1, infinity + normal / 2, infinity + normal / 2 + 5,
        infinity + normal - 1}) {
    all.push_back(value);
    all.push_back(value | sign);
  }
  return all;
}

/// Arrays of elements with a guard around each. It is compared, too, and so finds stray stores.
class ElementArray {
 public:
  /// The first element stands `offset` elements after the start of a cache line.
  ElementArray(const ElementFormat& format, size_t count, size_t offset)
      : format_(format),
        bytes_(count * format.bytes),
        begin_(guard + offset * format.bytes),
        storage_((begin_ + bytes_ + guard) / sizeof(Line) + 1) {
    std::memset(storage_.data(), 0xa5, storage_.size() * sizeof(Line));
  }

  [[nodiscard]] std::byte* at() { return storage_[0].bytes + begin_; }
  [[nodiscard]] const std::byte* at() const { return storage_[0].bytes + begin_; }

  void set(size_t index, uint64_t bits) {
    std::memcpy(at() + index * format_.bytes, &bits, format_.bytes);
  }
  [[nodiscard]] uint64_t get(size_t index) const {
    uint64_t bits = 0;
    std::memcpy(&bits, at() + index * format_.bytes, format_.bytes);
    return bits;
  }
  /// Any bits, every third element a special one.
  void fill(std::mt19937_64& random) {
    const std::vector<uint64_t> specials = special_bits(format_);
    for (size_t i = 0; i < bytes_ / format_.bytes; ++i)
      set(i, random() % 3 == 0 ? specials[random() % specials.size()] : random());
  }
  [[nodiscard]] bool operator==(const ElementArray& other) const {
    return bytes_ == other.bytes_ && begin_ == other.begin_ &&
           std::memcmp(storage_.data(), other.storage_.data(), begin_ + bytes_ + guard) == 0;
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static constexpr size_t guard = 64;

  ElementFormat format_;
  size_t bytes_;
  size_t begin_;
  std::vector<Line> storage_;
};

}  // namespace dt
