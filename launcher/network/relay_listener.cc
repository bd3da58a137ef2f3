#include "launcher/network/relay_listener.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// Tries IPv4 first; a host without it may lack 127.0.0.1, too.
Result<Fd> listen_on_loopback() {
  auto listener = listen_on({"127.0.0.1", 0});
  return listener ? std::move(listener) : listen_on({"::1", 0});
}

}  // namespace

Result<std::unique_ptr<RelayListener>> RelayListener::open(Loop& loop, const Relay::Send& send,
                                                           size_t connections_max,
                                                           uint32_t first_stream) {
  std::unique_ptr<RelayListener> opened(
      new RelayListener(loop, send, connections_max, first_stream));
  RelayListener& self = *opened;
  self.listener_ = TRY(listen_on_loopback());
  self.address_ = TRY(local_address(self.listener_.get()));
  self.watch_ =
      TRY(loop.watch(self.listener_.get(), EPOLLIN, [&self](uint32_t) { self.accept_waiting(); }));
  return opened;
}

void RelayListener::accept_waiting() {
  if (!make_room()) return;
  // At the limit the loop ends; the next round finds whether further connections wait.
  for (int i = 0; i < accepts_per_round && relay_.size() < connections_max_; ++i) {
    Result<Fd> connection = accept_one(listener_.get());
    if (!connection) {
      // Out of descriptors: a retry at once would only spin.
      watch_.set_events(0);
      resume_ = loop_.after(out_of_descriptors_pause, [this] { watch_.set_events(EPOLLIN); });
      return;
    }
    if (!*connection) return;
    // Foreign connections may use up all numbers while a task's connection keeps an early one.
    const uint32_t stream = relay_.free_stream(next_stream_);
    next_stream_ = stream + 1;
    if (relay_.add(stream, *std::move(connection))) send_(MessageType::relay_open, stream, {});
  }
}

/// Closes a quarter of the connections together, since the launcher must confirm each. So the
/// others stay for some round trips, in which a task proves the token, however quickly foreign
/// connections arrive. Returns false when no connection can be accepted yet.
bool RelayListener::make_room() {
  if (relay_.size() < connections_max_) return true;
  relay_.end_unproved(std::max(connections_max_ / 4, size_t{1}));
  if (relay_.size() < connections_max_) return true;
  watch_.set_events(0);
  return false;
}

void RelayListener::accept_if_room() {
  if (relay_.size() < connections_max_ && !resume_) watch_.set_events(EPOLLIN);
}

}  // namespace dt
