#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace dt {

/// An IP address and a port, v4 or v6.
struct Address {
  std::string ip;  ///< numeric, without brackets
  uint16_t port = 0;

  /// "10.0.0.1:80" or "[::1]:80": what goes into environments and messages.
  std::string text() const;
  /// Reads text() back. Only numeric addresses; no name is looked up.
  static Result<Address> parse(std::string_view text);
  bool operator==(const Address&) const = default;
};

/// `host:port`, the host in brackets when it holds a colon.
std::string host_port(std::string_view host, uint16_t port);

/// Listens on exactly this address (port 0: any), non-blocking, with a long backlog.
Result<Fd> listen_on(const Address& address);
/// The same at a held port (see hold_port). Connections that it leaves behind do not keep a worker
/// from binding the port.
Result<Fd> listen_on_held(const Address& address);
/// Starts a non-blocking connect, from the address `from_ip` where one is given; EPOLLOUT then
/// tells that it ended, connect_result how.
Result<Fd> start_connect(const Address& address, const std::string& from_ip = {});
Result<> connect_result(int fd, const Address& to);
/// Accepts one connection, non-blocking; an empty Fd when none waits.
Result<Fd> accept_one(int listener);
Result<Address> local_address(int fd);
Result<Address> peer_address(int fd);

/// Small writes leave at once, and a silent peer is noticed within `dead_after` (TCP_USER_TIMEOUT
/// and keepalive).
void tune_tcp(int fd, Duration dead_after);
/// Acknowledges what has arrived now and not up to 40 ms later, which is what a peer that waits for
/// it before its next small write (Nagle) would lose. The kernel forgets it: ask again after reads.
void acknowledge_now(int fd);
/// As tune_tcp, for a peer that may be stopped for long: who takes no data is silent only when its
/// kernel is, too.
void tune_tcp_of_worker(int fd, Duration dead_after);

/// A socket that holds a TCP port without listening: bound on [::] dual-stack (0.0.0.0 without
/// IPv6) with SO_REUSEADDR and SO_REUSEPORT, so that a worker that sets either flag can bind the
/// port. Port 0 takes any free one. A process that sets no flag cannot bind it, and the kernel
/// gives it to none that asks for any port. But each user that sets SO_REUSEADDR can bind it and
/// listen: no flags exclude other users and admit workers that set SO_REUSEADDR alone. Agents look
/// for such listeners (launcher/agent/port_watch.h).
Result<Fd> hold_port(uint16_t port);
/// Fails when somebody listens on the port, whom hold_port() would not notice where he has set
/// SO_REUSEPORT: both would then get some of the connections.
Result<> check_unheard(uint16_t port);

}  // namespace dt
