#include "cmd/bench/pattern.h"

#include "comm/include/dtrain/dtrain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace dt {
namespace {

/// Values are integers of this unit for floating-point types, so that fractions are tested, too.
constexpr double unit = 0.25;

/// Ranks that contribute a factor of two to a product; the others contribute one.
constexpr int doubling_ranks = 3;

/// Bits of a small float: one for the sign, the exponent, and the mantissa.
struct SmallFloat {
  uint32_t exponent_bits;
  uint32_t mantissa_bits;
};

/// Returns the bits of a number that the small float can hold exactly, and that is no subnormal.
uint32_t to_small(float value, SmallFloat format) {
  if (value == 0) return 0;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 31) << (format.exponent_bits + format.mantissa_bits);
  const uint32_t bias_difference = 127 - ((1U << (format.exponent_bits - 1)) - 1);
  const uint32_t exponent = (bits >> 23 & 0xffU) - bias_difference;
  const uint32_t mantissa = (bits & 0x7fffffU) >> (23 - format.mantissa_bits);
  return sign | exponent << format.mantissa_bits | mantissa;
}

/// Converts a number that bfloat16 can hold exactly.
uint16_t to_bfloat16(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

/// True for reductions that are an "or" of bool, false for an "and".
bool unites(const BenchReduction& reduction) {
  return reduction.number == DTRAIN_SUM || reduction.number == DTRAIN_MAX;
}

template <class T>
void append(Bytes& bytes, T value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

void append_number(Bytes& bytes, const BenchType& type, double value) {
  switch (type.number) {
    case DTRAIN_FLOAT16:
      return append(bytes, static_cast<uint16_t>(to_small(static_cast<float>(value), {5, 10})));
    case DTRAIN_FLOAT8_E4M3:
      return append(bytes, static_cast<uint8_t>(to_small(static_cast<float>(value), {4, 3})));
    case DTRAIN_FLOAT8_E5M2:
      return append(bytes, static_cast<uint8_t>(to_small(static_cast<float>(value), {5, 2})));
    case DTRAIN_BFLOAT16:
      return append(bytes, to_bfloat16(static_cast<float>(value)));
    case DTRAIN_FLOAT32:
      return append(bytes, static_cast<float>(value));
    default:
      return append(bytes, value);
  }
}

}  // namespace

Pattern::Pattern(const BenchType& type, const BenchReduction& reduction, World world)
    : type_(type), reduction_(reduction), world_(world) {
}

int64_t Pattern::value(int rank, size_t index) const {
  const auto ranks = static_cast<uint64_t>(world_.size);
  const auto number = static_cast<uint64_t>(rank);
  if (type_.number == DTRAIN_BOOL) {
    // At each index, one rank or none differs from all others, and so decides the result.
    const bool odd = (number + index) % (ranks + 1) == 0;
    return odd == unites(reduction_) ? 1 : 0;
  }
  // With such values, a sum over all ranks stays exact.
  const uint64_t share = std::min<uint64_t>(type_.integers_max / ranks, 1020);
  if (reduction_.number == DTRAIN_PRODUCT) {
    const bool doubles = (number + index) % ranks < doubling_ranks;
    return (doubles ? 2 : 1) * (type_.floating ? int64_t{4} : 1);
  }
  if (reduction_.number == DTRAIN_AVERAGE) {
    // Pairs of ranks differ from the average by the same number, so that it is exact.
    const bool paired = (number ^ 1U) < ranks && number < 2 * type_.integers_max;
    const auto middle = static_cast<int64_t>(index % (share / 2 + 1));
    const int64_t difference = !paired ? 0 : share == 0 ? 1 : middle;
    return number % 2 == 0 ? middle + difference : middle - difference;
  }
  // More ranks than the type can count: only some of them contribute a one.
  if (share == 0) return (number + index) % ranks < type_.integers_max ? 1 : 0;
  return static_cast<int64_t>((number * 7 + index * 3) % (share + 1));
}

int64_t Pattern::reduced_value(size_t index) const {
  int64_t result = value(0, index);
  for (int rank = 1; rank < world_.size; ++rank) {
    const int64_t other = value(rank, index);
    switch (reduction_.number) {
      case DTRAIN_MIN:
        result = std::min(result, other);
        break;
      case DTRAIN_MAX:
        result = std::max(result, other);
        break;
      case DTRAIN_PRODUCT:
        result = result * other / (type_.floating ? 4 : 1);
        break;
      default:
        result += other;
    }
  }
  if (type_.number == DTRAIN_BOOL) return result == 0 ? 0 : 1;
  return reduction_.number == DTRAIN_AVERAGE ? result / world_.size : result;
}

Bytes Pattern::encoded(const std::vector<int64_t>& values) const {
  Bytes bytes;
  bytes.reserve(values.size() * type_.bytes);
  for (const int64_t number : values) {
    if (type_.floating) {
      append_number(bytes, type_, static_cast<double>(number) * unit);
    } else {
      const ByteSpan all(reinterpret_cast<const std::byte*>(&number), sizeof number);
      bytes.insert(bytes.end(), all.begin(), all.begin() + static_cast<ptrdiff_t>(type_.bytes));
    }
  }
  return bytes;
}

Bytes Pattern::input_of(int rank) const {
  std::vector<int64_t> values(period);
  for (size_t i = 0; i < period; ++i)
    values[i] = value(rank, i);
  return encoded(values);
}

Bytes Pattern::reduced() const {
  std::vector<int64_t> values(period);
  for (size_t i = 0; i < period; ++i)
    values[i] = reduced_value(i);
  return encoded(values);
}

void Pattern::fill(std::span<std::byte> into, ByteSpan cycle, size_t first) const {
  size_t from = first % period * type_.bytes;
  while (!into.empty()) {
    const ByteSpan part = cycle.subspan(from, std::min(cycle.size() - from, into.size()));
    std::memcpy(into.data(), part.data(), part.size());
    into = into.subspan(part.size());
    from = 0;
  }
}

size_t Pattern::count_wrong(ByteSpan found, ByteSpan cycle, size_t first) const {
  size_t wrong = 0;
  size_t from = first % period * type_.bytes;
  while (!found.empty()) {
    const ByteSpan part = cycle.subspan(from, std::min(cycle.size() - from, found.size()));
    if (std::memcmp(found.data(), part.data(), part.size()) != 0) {
      for (size_t at = 0; at < part.size(); at += type_.bytes)
        wrong += std::memcmp(&found[at], &part[at], type_.bytes) == 0 ? 0 : 1;
    }
    found = found.subspan(part.size());
    from = 0;
  }
  return wrong;
}

}  // namespace dt
