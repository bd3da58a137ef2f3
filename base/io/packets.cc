#include "base/io/packets.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace dt {

namespace {

/// Room for one descriptor.
using Control = std::array<std::byte, CMSG_SPACE(sizeof(int))>;

}  // namespace

Result<SocketPair> make_packet_pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
    return fail_errno("cannot make a socket pair");
  return SocketPair{Fd(fds[0]), Fd(fds[1])};
}

Result<> send_packet(int socket, const Packet& packet) {
  iovec part = {.iov_base = const_cast<std::byte*>(packet.bytes.data()),
                .iov_len = packet.bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) Control control = {};
  if (packet.descriptor) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = packet.descriptor.get();
    std::memcpy(CMSG_DATA(header), &number, sizeof number);
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return {};
  if (errno == EPIPE || errno == ECONNRESET) return fail(Errc::closed, "the other end is gone");
  return fail_errno("cannot send a packet");
}

Result<std::optional<Packet>> receive_packet(int socket) {
  Packet packet = {.bytes = Bytes(packet_bytes_max)};
  iovec part = {.iov_base = packet.bytes.data(), .iov_len = packet.bytes.size()};
  alignas(cmsghdr) Control control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t received = -1;
  do {
    received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0 && errno != ECONNRESET) return fail_errno("cannot receive a packet");
  if (received <= 0) return std::nullopt;
  packet.bytes.resize(static_cast<size_t>(received));
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    packet.descriptor = Fd(number);
  }
  return packet;
}

}  // namespace dt
