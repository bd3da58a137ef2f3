#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/peer/message_connection.h"
#include "comm/training/ps/state/part_copy.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace dt {

/// A head's connection to its replica: sends the inputs, one after the other, and receives the
/// acknowledgements. Never blocks. Requires that the copy outlives it.
///
/// When it breaks, the launcher decides: its report of the replica's death comes soon, and a
/// replica that lives may take over any time.
class ReplicaConnection {
 public:
  ReplicaConnection(std::unique_ptr<MessageConnection> connection, PartCopy& head,
                    Duration notice_patience);

  /// For poll(2); -1 when it is broken.
  int fd() const { return connection_ == nullptr ? -1 : connection_->fd(); }
  bool unsent() const { return connection_ != nullptr && connection_->unsent(); }
  /// Sends and receives what is possible now. Fails at the deadline.
  Result<> advance(Time now);
  /// Until then the launcher reports a broken replica's end.
  Time deadline() const { return deadline_; }

 private:
  Result<> exchange();

  std::unique_ptr<MessageConnection> connection_;
  PartCopy& head_;
  Duration notice_patience_;
  std::optional<Error> broken_;
  Time deadline_ = Time::max();
  uint32_t last_message_ = 0;
};

}  // namespace dt
