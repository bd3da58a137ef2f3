#pragma once

#include "base/result.h"
#include "comm/peer/message_connection.h"
#include "comm/training/ps/state/part_copy.h"

#include <cstdint>
#include <memory>

namespace dt {

/// A head's connection to its replica: sends the inputs, one after the other, and receives the
/// acknowledgements. Never blocks. Requires that the copy outlives it.
class ReplicaConnection {
 public:
  ReplicaConnection(std::unique_ptr<MessageConnection> connection, PartCopy& head);

  int fd() const { return connection_->fd(); }
  bool unsent() const { return connection_->unsent(); }
  /// Sends and receives what is possible now. Fails when the connection is broken.
  Result<> advance();

 private:
  std::unique_ptr<MessageConnection> connection_;
  PartCopy& head_;
  uint32_t last_message_ = 0;
};

}  // namespace dt
