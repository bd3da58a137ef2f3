#include "comm/training/ps/replica_connection.h"

#include <utility>

namespace dt {

ReplicaConnection::ReplicaConnection(std::unique_ptr<MessageConnection> connection, PartCopy& head,
                                     Duration notice_patience)
    : connection_(std::move(connection)), head_(head), notice_patience_(notice_patience) {
}

Result<> ReplicaConnection::advance(Time now) {
  if (now >= deadline_) return tl::unexpected(*broken_);
  if (broken_) return {};
  if (const Result<> exchanged = exchange(); !exchanged) {
    connection_.reset();
    broken_ = exchanged.error();
    deadline_ = now + notice_patience_;
  }
  return {};
}

Result<> ReplicaConnection::exchange() {
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
