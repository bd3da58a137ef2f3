#pragma once

#include "comm/schedule/operation_request.h"

#include <string>
#include <string_view>

namespace dt {

/// The reason of a failure that may end many operations.
struct OperationFailure {
  Errc code = Errc::peer_lost;
  int blamed_rank = -1;
  std::string reason;  ///< "rank 3 (host b) has left the job"; end() puts the label before it
};

/// `all_reduce #12 "grad"`, `send to rank 1 "x"`.
std::string label(const Operation& operation);
/// The time at which the operation times out; Time::max() without a timeout.
Time deadline(const Operation& operation);

/// The text of failures for which there is no memory. It is so short that a std::string of it
/// allocates none.
inline constexpr std::string_view out_of_memory = "out of memory";

/// Called when the operation starts, for its times.
inline void note_start(Operation& operation) {
  if (operation.clock != nullptr) operation.times.started = operation.clock();
  if (operation.list && operation.list->times.started == Time()) note_start(*operation.list);
}
/// Sets the outcome of the operation; that of the last part also ends its list. Throws nothing.
void succeed(Operation& operation);
void end(Operation& operation, const OperationFailure& failure);
/// The same with a text that has a label already.
void end_labelled(Operation& operation, const OperationFailure& failure);

/// The shape of a collective whose ranks have equal counts.
CollectiveShape shape_of(const OperationRequest& request);

/// Fails with Errc::input when the arguments are wrong regardless of the other ranks.
Result<> check_request(const OperationRequest& request, int rank, int size);

}  // namespace dt
