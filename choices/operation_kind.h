#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dt {

/// The operations of the public API. The collectives come first.
enum class OperationKind : uint8_t {
  all_reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  reduce,
  gather,
  scatter,
  all_to_all,
  all_to_all_v,  ///< each rank gives the count for each other rank
  all_gather_v,  ///< each rank has a count of its own
  barrier,
  send,
  receive,
  join,  ///< a collective: this rank makes no further named calls until all have joined
};

inline constexpr std::array<std::string_view, 14> kind_names = {
    "all_reduce", "broadcast",    "all_gather",   "reduce_scatter", "reduce", "gather",  "scatter",
    "all_to_all", "all_to_all_v", "all_gather_v", "barrier",        "send",   "receive", "join"};
constexpr std::string_view kind_name(OperationKind kind) {
  return kind_names.at(static_cast<size_t>(kind));
}

constexpr bool is_collective(OperationKind kind) {
  return kind <= OperationKind::barrier || kind == OperationKind::join;
}

constexpr bool reduces(OperationKind kind) {
  return kind == OperationKind::all_reduce || kind == OperationKind::reduce_scatter ||
         kind == OperationKind::reduce;
}

/// True for collectives that have a root.
constexpr bool is_rooted(OperationKind kind) {
  return kind == OperationKind::broadcast || kind == OperationKind::reduce ||
         kind == OperationKind::gather || kind == OperationKind::scatter;
}

/// True when the counts of the ranks may differ. The engine allocates the result.
constexpr bool has_own_counts(OperationKind kind) {
  return kind == OperationKind::all_to_all_v || kind == OperationKind::all_gather_v;
}

}  // namespace dt
