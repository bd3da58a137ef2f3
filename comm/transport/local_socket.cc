#include "comm/transport/local_socket.h"

#include "base/format.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>

namespace dt {

namespace {

constexpr size_t descriptors_max = 4;

struct LocalAddress {
  sockaddr_un storage = {};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<LocalAddress> abstract_address(std::string_view name) {
  LocalAddress address;
  address.storage.sun_family = AF_UNIX;
  // A leading NUL makes the name abstract.
  if (name.empty() || name.size() + 1 > sizeof address.storage.sun_path) {
    return fail(Errc::protocol, "not a local socket name");
  }
  std::memcpy(address.storage.sun_path + 1, name.data(), name.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Result<Fd> local_socket() {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot make a local socket");
  return fd;
}

/// Room for the control message that carries descriptors.
struct Control {
  alignas(cmsghdr) char bytes[CMSG_SPACE(descriptors_max * sizeof(int))] = {};
};

void take_descriptors(msghdr& message, std::vector<Fd>& descriptors) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

Result<Fd> listen_local(std::string_view name) {
  const LocalAddress address = TRY(abstract_address(name));
  Fd fd = TRY(local_socket());
  if (bind(fd.get(), address.get(), address.length) < 0 || listen(fd.get(), 4096) < 0) {
    return fail_errno("cannot listen on a local socket");
  }
  return fd;
}

Result<Fd> connect_local(std::string_view name) {
  const LocalAddress address = TRY(abstract_address(name));
  Fd fd = TRY(local_socket());
  // A Unix socket connects at once, or fails: EAGAIN means that the listener's queue is full.
  if (connect(fd.get(), address.get(), address.length) < 0) {
    return fail(Errc::unreachable,
                format("cannot connect to a process of this host: {}", errno_text(errno)));
  }
  return fd;
}

Result<> require_same_user(int fd) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) {
    return fail_errno("cannot see who is at the other end of a local socket");
  }
  if (peer.uid != geteuid()) {
    return fail(Errc::refused,
                format("a process of user {} is at the other end of a local socket", peer.uid));
  }
  return {};
}

Result<> send_descriptors(int fd, ByteSpan bytes, std::span<const int> descriptors) {
  assert(!bytes.empty() && !descriptors.empty() && descriptors.size() <= descriptors_max);
  Control control;
  iovec part = {.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  ssize_t n = 0;
  do {
    n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  // A new socket has room for a few bytes: the kernel takes all of them or none.
  if (n != static_cast<ssize_t>(bytes.size())) {
    return fail(Errc::closed,
                format("cannot pass descriptors to a process of this host: {}", errno_text(errno)));
  }
  return {};
}

Result<size_t> receive_descriptors(int fd, std::span<std::byte> into,
                                   std::vector<Fd>& descriptors) {
  Control control;
  iovec part = {.iov_base = into.data(), .iov_len = into.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return size_t{0};
  if (n < 0) return fail(Errc::closed, errno_text(errno));
  take_descriptors(message, descriptors);
  if (n == 0) return fail(Errc::closed, "the connection was closed");
  return static_cast<size_t>(n);
}

}  // namespace dt
