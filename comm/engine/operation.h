#pragma once

#include "comm/engine/engine.h"

#include <string>

namespace dt {

/// Why something ended, for every operation that it ends.
struct OperationFailure {
  Errc code = Errc::peer_lost;
  int blamed_rank = -1;
  std::string reason;  ///< "rank 3 (host b) has left the job"; each operation puts its label ahead
};

bool is_collective(OperationKind kind);
/// `all_reduce #12 "grad"`, `send to rank 1 "x"`.
std::string label(const Operation& operation);
/// When it ends at the latest; Time::max() without a timeout.
Time deadline(const Operation& operation);

/// Sets the outcome.
void succeed(Operation& operation);
void end(Operation& operation, const OperationFailure& failure);

/// Whether the arguments can be right, whatever the other ranks say.
Result<> check_request(const OperationRequest& request, int rank, int size);

}  // namespace dt
