#include "comm/training/ps/replica_connection.h"

#include <utility>

namespace dt {

ReplicaConnection::ReplicaConnection(std::unique_ptr<MessageConnection> connection, PartCopy& head)
    : connection_(std::move(connection)), head_(head) {
}

Result<> ReplicaConnection::advance() {
  while (true) {
    TRY(connection_->advance());
    while (const auto message = connection_->take()) {
      const uint64_t number = TRY(decode_acknowledgement(*message->body));
      TRY(head_.acknowledged(number));
    }
    // Several messages under way would arrive in another order.
    if (connection_->outgoing() > 0) return {};
    std::optional<MessageParts> next = head_.take_outgoing();
    if (!next) return {};
    TRY(connection_->send(++last_message_, *std::move(next)));
  }
}

}  // namespace dt
