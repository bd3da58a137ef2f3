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

  /// Returns "10.0.0.1:80" or "[::1]:80", for environments and messages.
  std::string text() const;
  /// Reads the result of text(). Accepts only numeric addresses; resolves no names.
  static Result<Address> parse(std::string_view text);
  bool operator==(const Address&) const = default;
};

/// Returns `host:port`, with the host in brackets when it contains a colon.
std::string host_port(std::string_view host, uint16_t port);

/// Listens on exactly this address (port 0: any free one), non-blocking, with the longest queue.
Result<Fd> listen_on(const Address& address);
/// The same at a held port (see hold_port). Its old connections do not prevent a worker from
/// binding the port. Several listeners of one user may share a port: each gets some connections.
Result<Fd> listen_on_held(const Address& address);
/// Returns how many connections the kernel keeps for a listener until it accepts them. It drops the
/// packets of further ones, as if the system were silent.
size_t listen_queue_max();
/// Starts a non-blocking connect, from the address `from_ip` if it is not empty. EPOLLOUT reports
/// its end; connect_result() returns the result.
Result<Fd> start_connect(const Address& address, const std::string& from_ip = {});
Result<> connect_result(int fd, const Address& to);
/// Accepts one connection, non-blocking. Returns an empty Fd when none waits.
Result<Fd> accept_one(int listener);
/// A listener accepts at most these in one round of its loop. A flood of strangers must not keep
/// the loop from all else.
inline constexpr int accepts_per_round = 64;
/// A listener pauses for so long when the system has no descriptor for its next connection.
inline constexpr Duration out_of_descriptors_pause = milliseconds(100);
Result<Address> local_address(int fd);
Result<Address> peer_address(int fd);

/// Sets TCP options: small writes are sent at once, and a silent peer is detected within
/// `dead_after` (TCP_USER_TIMEOUT and keepalive).
void tune_tcp(int fd, Duration dead_after);
/// Acknowledges received bytes now. Otherwise the kernel may do so 40 ms later. A peer with Nagle's
/// algorithm waits for it before its next small write. The kernel resets this option: call it again
/// after reads.
void acknowledge_now(int fd);
/// As tune_tcp, for a peer process that may be stopped for long. A peer that reads no data counts
/// as silent only when its kernel is silent, too.
void tune_tcp_of_worker(int fd, Duration dead_after);
/// Chooses cubic where the host has it, for connections that move much data. BBR probes for its
/// bandwidth for seconds, and paces a link inside a cluster far below its speed.
void choose_congestion_control(int fd);

/// Returns a socket that holds a TCP port without listening (port 0: any free one). It is bound on
/// [::] dual-stack (0.0.0.0 without IPv6) with SO_REUSEADDR and SO_REUSEPORT. A worker that sets
/// either flag can then bind the port. A process that sets no flag cannot bind it. The kernel does
/// not choose it for port 0. But a process of any user that sets SO_REUSEADDR can bind it and
/// listen. No flags exclude other users and admit workers that set only SO_REUSEADDR. Agents watch
/// for such listeners (launcher/agent/port_watch.h).
Result<Fd> hold_port(uint16_t port);
/// Fails when a socket listens on the port. A listener with SO_REUSEPORT does not make hold_port()
/// fail, and both sockets would then get some of the connections.
Result<> check_no_listener(uint16_t port);

}  // namespace dt
