#pragma once

#include <type_traits>

namespace dt {

// Comparisons of our declarations with those of a C header.

/// True when both types are passed to functions in the same way.
template <class Ours, class Theirs>
constexpr bool same_in_abi() {
  constexpr bool numbers = (std::is_integral_v<Ours> || std::is_enum_v<Ours>) &&
                           (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
  constexpr bool pointers = std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  constexpr bool classes = std::is_class_v<Ours> && std::is_class_v<Theirs>;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): pointers, too
  return sizeof(Ours) == sizeof(Theirs) && (numbers || pointers || classes);
}

template <class Ours, class Theirs>
struct SameFunction : std::false_type {};
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameFunction<R (*)(A...), S (*)(B...)>
    : std::bool_constant<same_in_abi<R, S>() && (same_in_abi<A, B>() && ...)> {};

/// True when a call by our pointer is a call of their function.
template <class Class, class Ours, class Theirs>
consteval bool same_function(Ours Class::*, Theirs) {
  return SameFunction<Ours, Theirs>::value;
}

}  // namespace dt
