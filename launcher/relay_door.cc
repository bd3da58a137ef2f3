#include "launcher/relay_door.h"

#include <sys/epoll.h>

#include <utility>

namespace dt {

namespace {

constexpr Duration out_of_descriptors_pause = milliseconds(100);

/// A host without IPv4 may lack its loopback, too.
Result<Fd> listen_on_loopback() {
  auto listener = listen_on({"127.0.0.1", 0});
  return listener ? std::move(listener) : listen_on({"::1", 0});
}

}  // namespace

Result<std::unique_ptr<RelayDoor>> RelayDoor::open(Loop& loop, const Relay::Say& say,
                                                   size_t connections_max) {
  std::unique_ptr<RelayDoor> door(new RelayDoor(loop, say, connections_max));
  RelayDoor& self = *door;
  self.listener_ = TRY(listen_on_loopback());
  self.address_ = TRY(local_address(self.listener_.get()));
  self.watch_ =
      TRY(loop.watch(self.listener_.get(), EPOLLIN, [&self](uint32_t) { self.accept_waiting(); }));
  return door;
}

void RelayDoor::accept_waiting() {
  while (true) {
    Result<Fd> connection = accept_one(listener_.get());
    if (!connection) {
      // Out of descriptors: asking again at once would only spin.
      watch_.set_events(0);
      resume_ = loop_.after(out_of_descriptors_pause, [this] { watch_.set_events(EPOLLIN); });
      return;
    }
    if (!*connection) return;
    if (relay_.size() >= connections_max_) continue;
    const uint32_t stream = next_stream_++;
    if (relay_.add(stream, *std::move(connection))) say_(MessageType::relay_open, stream, {});
  }
}

}  // namespace dt
