#include "base/io/socket.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/ip_text.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dt {

namespace {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

/// Returns the number of the interface that an address names behind "%", by name or number.
Result<uint32_t> scope_of(const std::string& ip, size_t zone_at) {
  const std::string zone = ip.substr(zone_at);
  if (const unsigned index = if_nametoindex(zone.c_str()); index != 0) return index;
  const std::optional<int64_t> number = parse_integer(zone);
  if (number && *number > 0 && *number <= UINT32_MAX) return static_cast<uint32_t>(*number);
  return fail(Errc::input, format("'{}': this machine has no network interface '{}'; see: ip link",
                                  printable(ip), printable(zone)));
}

Result<SocketAddress> to_socket_address(const Address& address) {
  SocketAddress out;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  if (inet_pton(AF_INET, address.ip.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    out.length = sizeof *v4;
    return out;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  const size_t percent = std::min(address.ip.find('%'), address.ip.size());
  if (inet_pton(AF_INET6, address.ip.substr(0, percent).c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    if (percent < address.ip.size()) v6->sin6_scope_id = TRY(scope_of(address.ip, percent + 1));
    v6->sin6_port = htons(address.port);
    out.length = sizeof *v6;
    return out;
  }
  return fail(Errc::input, format("'{}' is no IP address", printable(address.ip)));
}

Address from_socket_address(const SocketAddress& address) {
  const uint16_t port = address.storage.ss_family == AF_INET
                            ? reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port
                            : reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port;
  return {ip_text(address.get()), ntohs(port)};
}

void set_flag(int fd, int level, int option, int value) {
  // The result is ignored: without the option, only speed or an early detection is lost.
  setsockopt(fd, level, option, &value, sizeof value);
}

int milliseconds_of(Duration duration) {
  constexpr Duration longest = std::chrono::hours(24);
  return static_cast<int>(duration_cast<milliseconds>(std::min(duration, longest)).count());
}

}  // namespace

std::string ip_text(const sockaddr* address) {
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  int family = address->sa_family;
  const void* bytes = &v6->sin6_addr;
  if (family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
    family = AF_INET;
    bytes = &v6->sin6_addr.s6_addr[12];
  }
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(family, bytes, text, sizeof text);
  const uint32_t scope = family == AF_INET6 ? v6->sin6_scope_id : 0;
  char interface[IF_NAMESIZE] = {};
  const bool named = scope != 0 && if_indextoname(scope, interface) != nullptr;
  return named ? format("{}%{}", text, interface) : text;
}

std::string host_port(std::string_view host, uint16_t port) {
  if (host.find(':') != std::string_view::npos) return format("[{}]:{}", host, port);
  return format("{}:{}", host, port);
}

std::string Address::text() const {
  return host_port(ip, port);
}

Result<Address> Address::parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  const auto wrong = [&] {
    return fail(Errc::input, format("expected IP:PORT, got '{}'", printable(text)));
  };
  if (colon == std::string_view::npos) return wrong();
  std::string_view ip = text.substr(0, colon);
  const bool bracketed = ip.starts_with('[') && ip.ends_with(']');
  if (bracketed) ip = ip.substr(1, ip.size() - 2);
  // Without brackets the last group of an IPv6 address looks like a port.
  const bool v6 = ip.find(':') != std::string_view::npos;
  // A zone means something on the machine alone whose interface it names.
  if (bracketed != v6 || ip.find('%') != std::string_view::npos) return wrong();
  const auto port = parse_integer(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) return wrong();
  Address address{std::string(ip), static_cast<uint16_t>(*port)};
  if (!to_socket_address(address)) return wrong();
  return address;
}

namespace {

constexpr int queue_wanted = 4096;
/// The default of net.core.somaxconn before Linux 5.4.
constexpr int usual_queue_max = 128;

Result<Fd> listen_with(const Address& address, std::initializer_list<int> flags) {
  const SocketAddress to = TRY(to_socket_address(address));
  Fd fd(socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot make a socket");
  for (const int flag : flags)
    set_flag(fd.get(), SOL_SOCKET, flag, 1);
  // IPv4 is included, whatever net.ipv6.bindv6only is.
  if (address.ip == "::") set_flag(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (bind(fd.get(), to.get(), to.length) < 0 || listen(fd.get(), queue_wanted) < 0) {
    return fail_errno(format("cannot listen on {}", address.text()));
  }
  return fd;
}

}  // namespace

size_t listen_queue_max() {
  const auto text = read_text_file("/proc/sys/net/core/somaxconn", 64);
  const auto most = text ? parse_integer(trim(*text)) : std::nullopt;
  return static_cast<size_t>(std::clamp<int64_t>(most.value_or(usual_queue_max), 1, queue_wanted));
}

Result<Fd> listen_on(const Address& address) {
  return listen_with(address, {SO_REUSEADDR});
}

Result<Fd> listen_on_held(const Address& address) {
  return listen_with(address, {SO_REUSEADDR, SO_REUSEPORT});
}

Result<Fd> start_connect(const Address& address, const std::string& from_ip) {
  const SocketAddress to = TRY(to_socket_address(address));
  Fd fd(socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot make a socket");
  if (!from_ip.empty()) {
    const SocketAddress from = TRY(to_socket_address({from_ip, 0}));
    if (bind(fd.get(), from.get(), from.length) < 0) {
      return fail_errno(format("cannot connect to {} from {}", address.text(), from_ip));
    }
  }
  if (connect(fd.get(), to.get(), to.length) < 0 && errno != EINPROGRESS) {
    return fail_errno(format("cannot connect to {}", address.text()));
  }
  return fd;
}

Result<> connect_result(int fd, const Address& to) {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error == 0) {
    // A dialer whose own port is the dialed one has reached itself: no process listens there.
    const auto ours = local_address(fd);
    const auto theirs = peer_address(fd);
    if (ours && theirs && *ours == *theirs) error = ECONNREFUSED;
  }
  if (error != 0) return fail_errno(format("cannot connect to {}", to.text()), error);
  return {};
}

Result<Fd> accept_one(int listener) {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) return Fd(fd);
  // A network error of one connection is no failure of the listener.
  constexpr int passing[] = {EAGAIN,   EINTR,        ECONNABORTED, EPROTO,
                             ENETDOWN, ENETUNREACH,  ENOPROTOOPT,  EHOSTDOWN,
                             ENONET,   EHOSTUNREACH, EOPNOTSUPP};
  if (std::find(std::begin(passing), std::end(passing), errno) != std::end(passing)) return Fd();
  return fail_errno("cannot accept a connection");
}

Result<Address> local_address(int fd) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (getsockname(fd, address.get(), &address.length) < 0) return fail_errno("getsockname");
  return from_socket_address(address);
}

Result<Address> peer_address(int fd) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (getpeername(fd, address.get(), &address.length) < 0) return fail_errno("getpeername");
  return from_socket_address(address);
}

void tune_tcp(int fd, Duration dead_after) {
  tune_tcp_of_worker(fd, dead_after);
  set_flag(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds_of(dead_after));
}

void tune_tcp_of_worker(int fd, Duration dead_after) {
  const int ms = milliseconds_of(dead_after);
  const int probe_s = std::max(1, ms / 4000);
  set_flag(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_flag(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_flag(fd, IPPROTO_TCP, TCP_KEEPIDLE, probe_s);
  set_flag(fd, IPPROTO_TCP, TCP_KEEPINTVL, probe_s);
  // The end comes when dead_after is over, and after at least two probes without an answer.
  const int probes = (ms + 1000 * probe_s - 1) / (1000 * probe_s) - 1;
  set_flag(fd, IPPROTO_TCP, TCP_KEEPCNT, std::clamp(probes, 2, 127));
}

void choose_congestion_control(int fd) {
  // The result is ignored: without cubic, the host's own choice stays.
  constexpr std::string_view cubic = "cubic";
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cubic.data(), cubic.size());
}

void acknowledge_now(int fd) {
  set_flag(fd, IPPROTO_TCP, TCP_QUICKACK, 1);
}

namespace {

/// Binds the port on all addresses, and listens on none.
Result<Fd> bind_everywhere(uint16_t port, std::initializer_list<int> flags) {
  for (const int family : {AF_INET6, AF_INET}) {
    Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) continue;  // no IPv6 here
    for (const int flag : flags)
      set_flag(fd.get(), SOL_SOCKET, flag, 1);
    if (family == AF_INET6) set_flag(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    const SocketAddress any = TRY(to_socket_address({family == AF_INET6 ? "::" : "0.0.0.0", port}));
    if (bind(fd.get(), any.get(), any.length) == 0) return fd;
    if (family == AF_INET || errno != EADDRNOTAVAIL) {
      return fail_errno(format("cannot hold port {}", port));
    }
  }
  return fail_errno("cannot make a socket");
}

}  // namespace

Result<Fd> hold_port(uint16_t port) {
  return bind_everywhere(port, {SO_REUSEADDR, SO_REUSEPORT});
}

Result<> check_no_listener(uint16_t port) {
  // With this flag alone, bind(2) fails only if another socket listens.
  TRY(bind_everywhere(port, {SO_REUSEADDR}));
  return {};
}

}  // namespace dt
