#include "comm/transport/tcp_socket.h"

namespace dt {

void TcpSocket::report(Events events) {
  // The end comes first: a link that clears the readable flag must not miss it.
  if (events.ended) ended_.store(true);
  if (events.writable) writable_.store(true);
  if (!events.readable && !events.ended) return;
  readable_.store(true);
  if (arrivals_) arrivals_->add(index_);
}

void TcpSocket::report_to(std::shared_ptr<ReadySet> arrivals, size_t index) {
  arrivals_ = std::move(arrivals);
  index_ = index;
  if (readable()) arrivals_->add(index_);
}

}  // namespace dt
