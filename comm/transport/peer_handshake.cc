#include "comm/transport/peer_handshake.h"

#include "comm/transport/local_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <span>

namespace dt {

namespace {

/// The one byte that carries the descriptors: SCM_RIGHTS needs at least one.
constexpr std::array passed_fds_mark = {std::byte{'g'}};

}  // namespace

Result<std::unique_ptr<PeerHandshake>> PeerHandshake::dial(Fd socket, const TaskId& peer,
                                                           Options options) {
  Handshake handshake = TRY(Handshake::dial(options.claim, peer));
  const bool connecting = !options.local;
  return std::unique_ptr<PeerHandshake>(
      new PeerHandshake(std::move(socket), std::move(handshake), std::move(options), connecting));
}

Result<std::unique_ptr<PeerHandshake>> PeerHandshake::accept(Fd socket, Options options) {
  Handshake handshake = TRY(Handshake::accept(options.claim));
  return std::unique_ptr<PeerHandshake>(
      new PeerHandshake(std::move(socket), std::move(handshake), std::move(options), false));
}

PeerHandshake::PeerHandshake(Fd socket, Handshake handshake, Options options, bool connecting)
    : socket_(std::move(socket)),
      handshake_(std::move(handshake)),
      options_(std::move(options)),
      connecting_(connecting),
      out_(handshake_.take_output()) {
}

short PeerHandshake::events() const {
  if (connecting_ || !out_.empty()) return POLLIN | POLLOUT;
  return POLLIN;
}

Result<> PeerHandshake::advance() {
  if (connecting_) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return fail(Errc::unreachable, errno_text(error));
    connecting_ = false;
  }
  TRY(flush());
  TRY(receive());
  TRY(flush());
  return exchange_fds();
}

Result<> PeerHandshake::receive() {
  // Reads no more than the handshake wants: the bytes behind it belong to the link.
  std::array<std::byte, handshake_bytes_max> buffer;
  while (handshake_.wanted() > 0) {
    const auto into = std::span(buffer).first(std::min(handshake_.wanted(), buffer.size()));
    const size_t n = TRY(receive_descriptors(socket_.get(), into, passed_fds_));
    if (n == 0) return {};
    TRY(handshake_.receive(into.first(n)));
    const Bytes answer = handshake_.take_output();
    out_.insert(out_.end(), answer.begin(), answer.end());
  }
  return {};
}

Result<> PeerHandshake::flush() {
  while (!out_.empty()) {
    const ssize_t n = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0) return fail(Errc::closed, errno_text(errno));
    out_.erase(out_.begin(), out_.begin() + n);
  }
  return {};
}

Result<> PeerHandshake::exchange_fds() {
  if (!options_.local || !handshake_.done() || !out_.empty()) return {};
  if (!fds_sent_) {
    TRY(send_descriptors(socket_.get(), passed_fds_mark, options_.passed_fds));
    fds_sent_ = true;
  }
  if (fds_received_) return {};
  std::array<std::byte, passed_fds_mark.size()> mark;
  const size_t received = TRY(receive_descriptors(socket_.get(), mark, passed_fds_));
  if (received == 0) return {};
  if (mark != passed_fds_mark || passed_fds_.size() != options_.passed_fds_expected) {
    return fail(Errc::protocol, "not the descriptors that were expected");
  }
  fds_received_ = true;
  return {};
}

Result<> PeerHandshake::accept_peer(std::vector<int> passed_fds, size_t passed_fds_expected) {
  options_.passed_fds = std::move(passed_fds);
  options_.passed_fds_expected = passed_fds_expected;
  handshake_.accept_peer();
  out_ = handshake_.take_output();
  TRY(flush());
  return exchange_fds();
}

void PeerHandshake::refuse_peer(std::string_view reason) {
  handshake_.refuse_peer(reason);
  out_ = handshake_.take_output();
  // A new connection has room for a few bytes. If the send fails, the peer sees the close.
  [[maybe_unused]] const Result<> sent = flush();
}

bool PeerHandshake::done() const {
  if (!handshake_.done() || !out_.empty()) return false;
  return !options_.local || (fds_sent_ && fds_received_);
}

AuthenticatedConnection PeerHandshake::take() {
  assert(done());
  return {std::move(socket_), std::move(handshake_), std::move(passed_fds_)};
}

}  // namespace dt
