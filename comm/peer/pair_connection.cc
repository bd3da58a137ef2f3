#include "comm/peer/pair_connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace dt {

namespace {

PairMemory::Side other(PairMemory::Side side) {
  using enum PairMemory::Side;
  return side == dialer ? acceptor : dialer;
}

std::shared_ptr<ShmPeer> peer_of(PairConnection::Ends& ends) {
  auto peer = std::make_shared<ShmPeer>();
  peer->doorbell = std::move(ends.doorbell);
  peer->socket = std::move(ends.socket);
  peer->asleep = &ends.memory->asleep(other(ends.side));
  return peer;
}

}  // namespace

PairConnection::PairConnection(Ends ends)
    : peer_(peer_of(ends)),
      asleep_(&ends.memory->asleep(ends.side)),
      in_(PairMemory::rings(ends.memory, ends.side).in),
      out_(PairMemory::rings(ends.memory, ends.side).out),
      link_(PairMemory::rings(ends.memory, ends.side), peer_) {
}

void PairConnection::begin_round() {
  seen_written_ = in_->written.load(std::memory_order_seq_cst);
  seen_read_ = out_->read.load(std::memory_order_seq_cst);
}

bool PairConnection::changed(bool unsent) const {
  if (in_->written.load(std::memory_order_seq_cst) != seen_written_) return true;
  return unsent && out_->read.load(std::memory_order_seq_cst) != seen_read_;
}

// The order matters, see shm_ring.h.
bool PairConnection::fall_asleep(bool unsent) {
  asleep_->store(1, std::memory_order_seq_cst);
  if (!changed(unsent)) return true;
  wake_up();
  return false;
}

void PairConnection::wake_up() {
  asleep_->store(0, std::memory_order_relaxed);
}

void PairConnection::look_for_end() {
  std::byte next{};
  const ssize_t n = recv(fd(), &next, 1, MSG_DONTWAIT | MSG_PEEK);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  peer_->closed.store(true, std::memory_order_release);
}

}  // namespace dt
