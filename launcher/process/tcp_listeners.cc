#include "launcher/process/tcp_listeners.h"

#include "base/bytes.h"
#include "base/io/fd.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace dt {

namespace {

constexpr const char* what = "cannot ask the kernel which sockets listen";

struct Question {
  nlmsghdr header = {.nlmsg_len = sizeof(Question),
                     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                     .nlmsg_seq = 0,
                     .nlmsg_pid = 0};
  inet_diag_req_v2 body = {};
};

/// Requires bytes.size() >= sizeof(Struct).
template <class Struct>
Struct front(ByteSpan bytes) {
  Struct value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// Appends the listeners of one datagram. Returns true for the last datagram of the reply.
Result<bool> take_answer(ByteSpan bytes, std::vector<TcpListener>& listeners) {
  while (bytes.size() >= sizeof(nlmsghdr)) {
    const auto header = front<nlmsghdr>(bytes);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size()) break;
    const ByteSpan payload = bytes.first(header.nlmsg_len).subspan(sizeof header);
    if (header.nlmsg_type == NLMSG_DONE) return true;
    if (header.nlmsg_type == NLMSG_ERROR && payload.size() >= sizeof(nlmsgerr)) {
      return fail_errno(what, -front<nlmsgerr>(payload).error);
    }
    if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY && payload.size() >= sizeof(inet_diag_msg)) {
      const auto socket = front<inet_diag_msg>(payload);
      listeners.push_back({.port = ntohs(socket.id.idiag_sport),
                           .uid = socket.idiag_uid,
                           .inode = socket.idiag_inode});
    }
    bytes = bytes.subspan(std::min<size_t>(NLMSG_ALIGN(header.nlmsg_len), bytes.size()));
  }
  if (bytes.empty()) return false;
  return fail(Errc::protocol, "cannot read the kernel's answer about listening sockets");
}

Result<> add_listeners(uint8_t family, std::vector<TcpListener>& listeners) {
  const Fd kernel(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!kernel) return fail_errno(what);
  Question question;
  question.body.sdiag_family = family;
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_states = 1U << TCP_LISTEN;
  while (::send(kernel.get(), &question, sizeof question, 0) < 0) {
    if (errno != EINTR) return fail_errno(what);
  }
  std::array<std::byte, 32768> buffer;
  for (bool complete = false; !complete;) {
    // Waits for nothing: the kernel builds each part of its reply within send or recv.
    const ssize_t n = ::recv(kernel.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(what);
    complete = TRY(take_answer(ByteSpan(buffer).first(static_cast<size_t>(n)), listeners));
  }
  return {};
}

}  // namespace

Result<std::vector<TcpListener>> tcp_listeners() {
  std::vector<TcpListener> listeners;
  TRY(add_listeners(AF_INET, listeners));
  // A kernel without IPv6 refuses this request, and has no such sockets.
  static_cast<void>(add_listeners(AF_INET6, listeners));
  return listeners;
}

}  // namespace dt
