#pragma once

#include "comm/schedule/schedule.h"

namespace dt {

// Schedules in which ranks exchange with a partner whose number differs in one bit. If the size is
// no power of two, some ranks first add their input to that of their neighbour. At the end, they
// get the result from the neighbour.

/// Reduces `count` elements; every rank ends with the result. Each exchange has all of the data:
/// log2(n) rounds. All ranks compute the same expression, in the order of ranks. `in_place`: input
/// and output are the same buffer.
Steps recursive_doubling_all_reduce(Group group, size_t count, bool in_place);
/// The same for an operation on whole inputs, whose elements depend on each other. Each exchange is
/// complete before Fold::inputs reduces the two inputs.
Steps recursive_doubling_of_wholes(Group group, size_t count);
/// The same by recursive halving, then doubling (Rabenseifner 2004). Takes 2 log2(n) rounds, in
/// which each rank of a power of two sends 2 (n-1)/n of the data.
Steps halving_doubling_all_reduce(Group group, size_t count);

}  // namespace dt
