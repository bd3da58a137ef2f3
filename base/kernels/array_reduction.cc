#include "base/kernels/array_reduction.h"

#include "base/format.h"
#include "base/kernels/half_cast.h"
#include "base/kernels/reducer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <optional>

namespace dt {

namespace {

constexpr size_t piece_elements = 1024;  // three pieces of float64 stay in the first cache

/// Memory for the accumulators of one piece.
struct Piece {
  alignas(64) std::array<std::byte, piece_elements * sizeof(double)> bytes;
  std::byte* at() { return bytes.data(); }
};

/// Some of the arrays of a reduction.
struct ArrayRange {
  size_t begin = 0;
  size_t end = 0;
};

/// Makes a reduction piece by piece, with accumulators beside the arrays.
class PieceFold {
 public:
  explicit PieceFold(const ArrayReduction& reduction)
      : reduction_(reduction),
        wide_type_(accumulator_type(reduction.type)),
        array_count_(reduction.sources.size()),
        reducer_(wide_type_, reduction.op) {
    if (wide_type_ != reduction.type) caster_.emplace(wide_type_, reduction.type);
  }

  void run() {
    const bool halves = reduction_.order == FoldOrder::halves && array_count_ > 1;
    for (size_t at = 0; at < reduction_.count; at += piece_elements) {
      const size_t count = std::min(piece_elements, reduction_.count - at);
      fold({0, halves ? array_count_ / 2 : array_count_}, at, count, first_.at());
      if (halves) {
        fold({array_count_ / 2, array_count_}, at, count, second_.at());
        reducer_.reduce(first_.at(), second_.at(), count);
      }
      store(at, count);
    }
  }

 private:
  /// Combines the arrays of the range, from left to right.
  void fold(ArrayRange range, size_t at, size_t count, std::byte* into) {
    const std::byte* first = widened(range.begin, at, count, into);
    if (first != into) std::memcpy(into, first, count * element_bytes(wide_type_));
    for (size_t i = range.begin + 1; i < range.end; ++i)
      reducer_.reduce(into, widened(i, at, count, room_.at()), count);
  }

  /// Returns elements of an array as accumulators: the array itself, or their copy in `room`.
  const std::byte* widened(size_t array, size_t at, size_t count, std::byte* room) const {
    const std::byte* const elements = reduction_.sources[array];
    if (!caster_) return elements + at * element_bytes(wide_type_);
    caster_->widen(room, elements + at * element_bytes(reduction_.type), count);
    return room;
  }

  void store(size_t at, size_t count) {
    if (reduction_.op == ReduceOp::average)
      divide(wide_type_, first_.at(), count, reduction_.divisor);
    const size_t bytes = element_bytes(reduction_.type);
    std::byte* const into = reduction_.into + at * bytes;
    if (caster_) {
      caster_->narrow(into, first_.at(), count);
    } else {
      std::memcpy(into, first_.at(), count * bytes);
    }
    for (std::byte* const also : reduction_.also)
      std::memcpy(also + at * bytes, into, count * bytes);
  }

  const ArrayReduction& reduction_;
  ElementType wide_type_;
  size_t array_count_;
  Reducer reducer_;
  std::optional<HalfCaster> caster_ = {};  ///< none: elements are accumulators already
  Piece first_ = {};
  Piece second_ = {};
  Piece room_ = {};
};

/// True where one pass of a Reducer gives the result. Up to two arrays have one order only.
bool is_one_pass(const ArrayReduction& reduction) {
  return reduction.order == FoldOrder::rank || reduction.sources.size() <= 2;
}

}  // namespace

Result<> check(const ArrayReduction& reduction) {
  const auto wrong = [](const char* why) {
    return fail(Errc::input, format("cannot reduce: {}", why));
  };
  if (reduction.op == ReduceOp::adasum) return wrong("adasum does not reduce element by element");
  if (reduction.op == ReduceOp::average && reduction.type == ElementType::boolean)
    return wrong("booleans have no average");
  if (reduction.sources.empty()) return wrong("there are no arrays");
  if (reduction.divisor < 1) return wrong("the divisor of an average is a number from 1");
  if (reduction.count == 0) return {};
  const auto is_null = [](const std::byte* array) { return array == nullptr; };
  if (reduction.into == nullptr || std::ranges::any_of(reduction.sources, is_null) ||
      std::ranges::any_of(reduction.also, is_null))
    return wrong("an array is null");
  std::vector<std::byte*> results = reduction.also;
  results.push_back(reduction.into);
  std::ranges::sort(results);
  if (std::ranges::adjacent_find(results) != results.end())
    return wrong("two results have one place");
  return {};
}

void reduce_arrays(const ArrayReduction& reduction) {
  if (reduction.count == 0) return;
  if (!is_one_pass(reduction)) return PieceFold(reduction).run();
  const std::vector<std::byte*>& also = reduction.also;
  Reducer(reduction.type, reduction.op)
      .reduce_many({reduction.into, also.empty() ? nullptr : also.front()}, reduction.sources,
                   reduction.count, reduction.divisor);
  for (size_t i = 1; i < also.size(); ++i)
    std::memcpy(also[i], reduction.into, reduction.array_bytes());
}

}  // namespace dt
