#include "comm/engine/reduce.h"

#include "comm/kernels/half.h"

#include <array>
#include <cassert>
#include <type_traits>

namespace dt {

namespace {

struct TypeFacts {
  std::string_view name;
  size_t bytes;
  bool floating;
};

constexpr std::array<TypeFacts, 10> types = {{{"int8", 1, false},
                                              {"uint8", 1, false},
                                              {"int32", 4, false},
                                              {"uint32", 4, false},
                                              {"int64", 8, false},
                                              {"uint64", 8, false},
                                              {"float16", 2, true},
                                              {"bfloat16", 2, true},
                                              {"float32", 4, true},
                                              {"float64", 8, true}}};

constexpr std::array<std::string_view, 5> reduce_names = {"sum", "average", "min", "max",
                                                          "product"};

const TypeFacts& facts(ElementType type) {
  assert(known(type));
  return types[static_cast<size_t>(type)];
}

template <class T>
constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// Integers are computed as unsigned ones, whose overflow is defined. They have at least 32 bits,
/// because smaller ones would be promoted to a signed int.
template <class T>
using Wrapping =
    std::make_unsigned_t<std::conditional_t<(sizeof(T) < sizeof(uint32_t)), uint32_t, T>>;

struct Sum {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    } else {
      return a + b;
    }
  }
};

struct Product {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};

// `a != a` selects a NaN on the left. A NaN on the right makes `a < b` false and is selected by
// that.
struct Min {
  template <class T>
  static T of(T a, T b) {
    return (a != a || a < b) ? a : b;
  }
};

struct Max {
  template <class T>
  static T of(T a, T b) {
    return (a != a || a > b) ? a : b;
  }
};

template <class Op, class T>
void apply_typed(T* into, const T* from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if constexpr (is_half<T>) {
      from_float(Op::of(to_float(into[i]), to_float(from[i])), into[i]);
    } else {
      into[i] = Op::of(into[i], from[i]);
    }
  }
}

template <class T>
void divide_typed(T* elements, size_t count, int divisor) {
  for (size_t i = 0; i < count; ++i) {
    if constexpr (is_half<T>) {
      from_float(to_float(elements[i]) / static_cast<float>(divisor), elements[i]);
    } else {
      elements[i] /= static_cast<T>(divisor);
    }
  }
}

/// Calls `action` with a value of the C++ type that `type` names.
template <class Action>
void with_type(ElementType type, Action action) {
  switch (type) {
    case ElementType::int8:
      return action(int8_t{});
    case ElementType::uint8:
      return action(uint8_t{});
    case ElementType::int32:
      return action(int32_t{});
    case ElementType::uint32:
      return action(uint32_t{});
    case ElementType::int64:
      return action(int64_t{});
    case ElementType::uint64:
      return action(uint64_t{});
    case ElementType::float16:
      return action(Float16{});
    case ElementType::bfloat16:
      return action(BFloat16{});
    case ElementType::float32:
      return action(float{});
    case ElementType::float64:
      return action(double{});
  }
  assert(!"an element type that was not checked");
}

}  // namespace

bool known(ElementType type) {
  return static_cast<size_t>(type) < types.size();
}
bool known(ReduceOp op) {
  return static_cast<size_t>(op) < reduce_names.size();
}

size_t element_bytes(ElementType type) {
  return facts(type).bytes;
}
std::string_view element_name(ElementType type) {
  return facts(type).name;
}
std::string_view reduce_name(ReduceOp op) {
  assert(known(op));
  return reduce_names[static_cast<size_t>(op)];
}
bool is_floating(ElementType type) {
  return facts(type).floating;
}

void Reduction::apply(std::byte* into, const std::byte* from, size_t count) const {
  with_type(type, [&](auto element) {
    using T = decltype(element);
    auto* left = reinterpret_cast<T*>(into);
    const auto* right = reinterpret_cast<const T*>(from);
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::average:
        return apply_typed<Sum>(left, right, count);
      case ReduceOp::product:
        return apply_typed<Product>(left, right, count);
      case ReduceOp::min:
        return apply_typed<Min>(left, right, count);
      case ReduceOp::max:
        return apply_typed<Max>(left, right, count);
    }
  });
}

void reduce_in_order(const OperationRequest& request, std::span<const std::byte* const> sources,
                     std::byte* into, size_t count) {
  const Reduction reduction{request.type, request.reduce};
  const size_t bytes = element_bytes(request.type);
  // `into` may be any of the sources, so the result grows in a buffer, one part after the other.
  constexpr size_t part_bytes = 4096;
  alignas(64) std::array<std::byte, part_bytes> part;
  for (size_t done = 0; done < count;) {
    const size_t n = std::min(part_bytes / bytes, count - done);
    std::memcpy(part.data(), sources.front() + done * bytes, n * bytes);
    for (const std::byte* source : sources.subspan(1))
      reduction.apply(part.data(), source + done * bytes, n);
    if (request.reduce == ReduceOp::average)
      average_over(request.type, part.data(), n, static_cast<int>(sources.size()));
    std::memcpy(into + done * bytes, part.data(), n * bytes);
    done += n;
  }
}

void average_over(ElementType type, std::byte* elements, size_t count, int divisor) {
  assert(is_floating(type));
  with_type(type, [&](auto element) {
    using T = decltype(element);
    if constexpr (!std::is_integral_v<T>)
      divide_typed(reinterpret_cast<T*>(elements), count, divisor);
  });
}

}  // namespace dt
