#include "launcher/sync/host_connection.h"

namespace dt {

bool is_of_sync(const FrameHeader& header) {
  if (header.stream != sync_stream) return false;
  switch (static_cast<MessageType>(header.type)) {
    case MessageType::relay_open:
    case MessageType::relay_bytes:
    case MessageType::relay_credit:
    case MessageType::relay_end:
      return true;
    default:
      return false;
  }
}

HostConnection::~HostConnection() {
  relay_.reset();
  if (process_) process_->wait(end_patience);
}

Result<> HostConnection::receive(MessageType type, ByteSpan payload) {
  return type == MessageType::relay_open ? open() : relay_->receive(type, sync_stream, payload);
}

Result<> HostConnection::open() {
  if (process_) return fail(Errc::protocol, "the connection for --sync is open already");
  SocketPair pair = TRY(make_socketpair());
  TRY(set_nonblocking(pair.ours.get()));
  std::vector<Fd> its;
  its.push_back(std::move(pair.theirs));
  ForkedService started = TRY(ForkedService::start(
      "dtrain-sync", std::move(its), [this](std::vector<Fd> kept) { serve_(std::move(kept[0])); }));
  process_.emplace(std::move(started));
  return relay_->add(sync_stream, std::move(pair.ours));
}

std::vector<pid_t> HostConnection::processes() const {
  return process_ ? std::vector<pid_t>{process_->pid()} : std::vector<pid_t>();
}

}  // namespace dt
