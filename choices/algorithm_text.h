#pragma once

#include "base/result.h"
#include "choices/algorithm_rules.h"

#include <map>
#include <string>
#include <string_view>

namespace dt {

/// The algorithms that a user has chosen. Other kinds have their default_rules.
using ChosenAlgorithms = std::map<OperationKind, AlgorithmRules>;

/// The first part of a table whose reductions all add in rank order.
inline constexpr std::string_view deterministic_part = "deterministic";

/// Reads a table of algorithms such as "tree:64k:ring,broadcast=hierarchical". Each part has an
/// operation, all_reduce where it is omitted, and algorithms with limits in bytes between them. A
/// limit belongs to the algorithm before it. "@mine" is an algorithm that the program registers.
/// A table that begins with "deterministic" has rank_order for all_reduce, reduce and
/// reduce_scatter. Returns nothing for an empty text. Fails with
/// Errc::input and the column of the first fault.
Result<ChosenAlgorithms> parse_algorithms(std::string_view text);

/// True when a program may register an algorithm of that name.
bool is_registrable(std::string_view name);
inline constexpr std::string_view registrable_names =
    "the name of an algorithm has 1 to 63 letters, digits and underscores";

/// The same form, without the operation: "tree:64k:ring".
std::string rules_text(const AlgorithmRules& rules);

}  // namespace dt
