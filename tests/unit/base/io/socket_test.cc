#include "base/io/socket.h"

#include <doctest/doctest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace dt {
namespace {

int option(const Fd& fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  REQUIRE(getsockopt(fd.get(), level, name, &value, &length) == 0);
  return value;
}

void wait_for(const Fd& fd, short events) {
  pollfd waiting = {.fd = fd.get(), .events = events, .revents = 0};
  REQUIRE(poll(&waiting, 1, 10'000) == 1);
}

struct Connection {
  Fd ours;
  Fd theirs;
};

Connection connect_to(const Fd& listener, const Address& address) {
  Connection connection;
  connection.ours = start_connect(address).value();
  wait_for(listener, POLLIN);
  connection.theirs = accept_one(listener.get()).value();
  REQUIRE(connection.theirs);
  wait_for(connection.ours, POLLOUT);
  REQUIRE(connect_result(connection.ours.get(), address));
  return connection;
}

TEST_CASE("the zone of a link-local address is an interface of this machine, or its number") {
  for (const char* const ip : {"::1%lo", "::1%1"}) {
    CAPTURE(ip);
    const auto socket = start_connect({ip, 9});
    CHECK_MESSAGE(socket, socket.error().message);
  }
  const auto none = start_connect({"fe80::1%none0", 9});
  REQUIRE_FALSE(none);
  CHECK(none.error().message ==
        "'fe80::1%none0': this machine has no network interface 'none0'; see: ip link");
}

TEST_CASE("a listener keeps as many connections as its system has room for, and no more") {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  // For a listener, this field is the length of its queue.
  tcp_info info = {};
  socklen_t size = sizeof info;
  REQUIRE(getsockopt(listener.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0);
  CHECK(listen_queue_max() == info.tcpi_sacked);
}

TEST_CASE("several listeners share a held port, and each connection reaches one of them") {
  const Fd first = listen_on_held({"127.0.0.1", 0}).value();
  const Address address = local_address(first.get()).value();
  const Fd second = listen_on_held(address).value();
  std::array<int, 2> accepted = {};
  std::vector<Fd> connections;
  for (int i = 0; i < 100; ++i) {
    connections.push_back(start_connect(address).value());
    std::array<pollfd, 2> fds = {{{.fd = first.get(), .events = POLLIN, .revents = 0},
                                  {.fd = second.get(), .events = POLLIN, .revents = 0}}};
    REQUIRE(poll(fds.data(), fds.size(), 60'000) == 1);
    const size_t at = fds[0].revents != 0 ? 0 : 1;
    CHECK(accept_one(fds[at].fd).value());
    ++accepted[at];
  }
  CHECK(accepted[0] > 0);
  CHECK(accepted[1] > 0);
}

TEST_CASE("an address is written with brackets around IPv6, and read back") {
  const Address v4 = {"10.0.0.1", 80};
  const Address v6 = {"fd00::1", 65535};
  CHECK(v4.text() == "10.0.0.1:80");
  CHECK(v6.text() == "[fd00::1]:65535");
  CHECK(Address::parse(v4.text()).value() == v4);
  CHECK(Address::parse(v6.text()).value() == v6);
  CHECK(host_port("node07", 1) == "node07:1");
  CHECK(host_port("::1", 1) == "[::1]:1");
}

TEST_CASE("what is no numeric address with a port is refused") {
  for (const char* bad :
       {"", "10.0.0.1", "10.0.0.1:", ":80", "node07:80", "10.0.0.1:65536", "10.0.0.1:-1",
        "10.0.0.1:80x", "10.0.0:80", "::1:80", "[::1]", "[::1]80", "[10.0.0.1]:80", "[::1:80",
        "::1]:80", "[fe80::1%lo]:80", "10.0.0.1: 80"}) {
    CAPTURE(bad);
    const auto read = Address::parse(bad);
    REQUIRE(!read);
    CHECK(read.error().code == Errc::input);
    CHECK(read.error().message.find(bad) != std::string::npos);
  }
}

TEST_CASE("a connection knows both of its addresses, and nothing blocks") {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  const Address address = local_address(listener.get()).value();
  CHECK(address.ip == "127.0.0.1");
  CHECK(address.port != 0);
  CHECK(!accept_one(listener.get()).value());

  const Connection c = connect_to(listener, address);
  CHECK(peer_address(c.ours.get()).value() == address);
  CHECK(local_address(c.theirs.get()).value() == address);
  CHECK(peer_address(c.theirs.get()).value() == local_address(c.ours.get()).value());
  char byte = 0;
  CHECK(::read(c.ours.get(), &byte, 1) == -1);
  CHECK(errno == EAGAIN);
  CHECK(::read(c.theirs.get(), &byte, 1) == -1);
  CHECK(errno == EAGAIN);
}

TEST_CASE("a listener on all addresses knows an IPv4 peer by its IPv4 address") {
  const auto listener = listen_on({"::", 0});
  if (!listener) return;  // a machine without IPv6
  const Address address = {"127.0.0.1", local_address(listener->get()).value().port};
  const Connection c = connect_to(*listener, address);
  CHECK(local_address(c.theirs.get()).value() == address);
  CHECK(peer_address(c.theirs.get()).value() == local_address(c.ours.get()).value());
}

TEST_CASE("a port that is taken cannot be listened on, and the message names it") {
  const Fd first = listen_on({"127.0.0.1", 0}).value();
  const Address address = local_address(first.get()).value();
  const auto second = listen_on(address);
  REQUIRE(!second);
  CHECK(second.error().message ==
        "cannot listen on " + address.text() + ": Address already in use");
}

TEST_CASE("a refused connection fails in connect_result at the latest") {
  Fd listener = listen_on({"127.0.0.1", 0}).value();
  const Address address = local_address(listener.get()).value();
  listener.reset();
  const auto connecting = start_connect(address);
  Result<> result;
  if (connecting) {
    wait_for(*connecting, POLLOUT);
    result = connect_result(connecting->get(), address);
  } else {
    result = tl::unexpected(connecting.error());
  }
  REQUIRE(!result);
  CHECK(result.error().message == "cannot connect to " + address.text() + ": Connection refused");
}

TEST_CASE("a socket that reached itself counts as refused") {
  // TCP allows this: the kernel gives the dialer the port that it dials.
  const Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in self = {};
  self.sin_family = AF_INET;
  self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof self;
  auto* generic = reinterpret_cast<sockaddr*>(&self);
  REQUIRE(bind(fd.get(), generic, length) == 0);
  REQUIRE(getsockname(fd.get(), generic, &length) == 0);
  REQUIRE(connect(fd.get(), generic, length) == 0);
  CHECK(!connect_result(fd.get(), {"127.0.0.1", ntohs(self.sin_port)}));
}

TEST_CASE("tune_tcp bounds how long a silent peer counts as alive") {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  const Connection c = connect_to(listener, local_address(listener.get()).value());
  tune_tcp(c.ours.get(), seconds(8));
  CHECK(option(c.ours, IPPROTO_TCP, TCP_NODELAY) == 1);
  CHECK(option(c.ours, SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option(c.ours, IPPROTO_TCP, TCP_USER_TIMEOUT) == 8000);
  const int silence_s =
      option(c.ours, IPPROTO_TCP, TCP_KEEPIDLE) +
      option(c.ours, IPPROTO_TCP, TCP_KEEPCNT) * option(c.ours, IPPROTO_TCP, TCP_KEEPINTVL);
  CHECK(silence_s <= 8);
}

TEST_CASE("tune_tcp_of_worker keeps a peer that reads no data, while its kernel answers") {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  const Connection c = connect_to(listener, local_address(listener.get()).value());
  tune_tcp_of_worker(c.ours.get(), seconds(8));
  CHECK(option(c.ours, SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option(c.ours, IPPROTO_TCP, TCP_USER_TIMEOUT) == 0);
}

TEST_CASE("keepalive of workers ends after the dead-after time, and at the latest 2 s later") {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  const Connection c = connect_to(listener, local_address(listener.get()).value());
  for (const int dead_after_s : {1, 2, 3, 5, 6, 7, 10}) {
    CAPTURE(dead_after_s);
    tune_tcp_of_worker(c.ours.get(), seconds(dead_after_s));
    const int silence_s =
        option(c.ours, IPPROTO_TCP, TCP_KEEPIDLE) +
        option(c.ours, IPPROTO_TCP, TCP_KEEPCNT) * option(c.ours, IPPROTO_TCP, TCP_KEEPINTVL);
    CHECK(silence_s >= dead_after_s);
    CHECK(silence_s <= dead_after_s + 2);
  }
}

TEST_CASE("choose_congestion_control chooses cubic, or leaves the host's own choice") {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  const Connection c = connect_to(listener, local_address(listener.get()).value());
  const auto algorithm = [&] {
    std::array<char, 16> name = {};
    socklen_t length = name.size();
    REQUIRE(getsockopt(c.ours.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) == 0);
    return std::string(name.data());
  };
  const bool has_cubic = setsockopt(c.ours.get(), IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) == 0;
  static_cast<void>(setsockopt(c.ours.get(), IPPROTO_TCP, TCP_CONGESTION, "reno", 4));
  const std::string before = algorithm();
  choose_congestion_control(c.ours.get());
  CHECK(algorithm() == (has_cubic ? "cubic" : before));
}

// hold_port: one test for each clause of its promise.

struct BindOptions {
  bool reuse_address = false;
  bool reuse_port = false;
};

/// A TCP socket bound to ip:port as by a worker or another program; when empty, errno has the
/// reason.
Fd bind_tcp(const Address& address, BindOptions options = {}) {
  const bool v6 = address.ip.find(':') != std::string::npos;
  Fd fd(socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  if (options.reuse_address) {
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  }
  if (options.reuse_port) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(address.port);
  six.sin6_addr = address.ip == "::1" ? in6addr_loopback : in6addr_any;
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = htons(address.port);
  four.sin_addr.s_addr = htonl(address.ip == "127.0.0.1" ? INADDR_LOOPBACK : INADDR_ANY);
  const int bound = v6 ? bind(fd.get(), reinterpret_cast<sockaddr*>(&six), sizeof six)
                       : bind(fd.get(), reinterpret_cast<sockaddr*>(&four), sizeof four);
  return bound == 0 ? std::move(fd) : Fd();
}

uint16_t port_of(const Fd& fd) {
  return local_address(fd.get()).value().port;
}

bool machine_has_ipv6() {
  return static_cast<bool>(bind_tcp({"::1", 0}));
}

std::vector<std::string> machine_ips() {
  if (!machine_has_ipv6()) return {"127.0.0.1", "0.0.0.0"};
  return {"127.0.0.1", "0.0.0.0", "::1", "::"};
}

TEST_CASE("a held port is bound on [::] dual-stack, or on 0.0.0.0 without IPv6") {
  const Fd held = hold_port(0).value();
  if (machine_has_ipv6()) {
    CHECK(local_address(held.get()).value().ip == "::");
    CHECK(option(held, IPPROTO_IPV6, IPV6_V6ONLY) == 0);
  } else {
    CHECK(local_address(held.get()).value().ip == "0.0.0.0");
  }
}

TEST_CASE("a held port has SO_REUSEADDR and SO_REUSEPORT") {
  const Fd held = hold_port(0).value();
  CHECK(option(held, SOL_SOCKET, SO_REUSEADDR) == 1);
  CHECK(option(held, SOL_SOCKET, SO_REUSEPORT) == 1);
}

TEST_CASE("a held port does not listen: a connection to it is refused") {
  const Fd held = hold_port(0).value();
  CHECK(option(held, SOL_SOCKET, SO_ACCEPTCONN) == 0);
  const Address address = {"127.0.0.1", port_of(held)};
  const auto connecting = start_connect(address);
  if (connecting) {
    wait_for(*connecting, POLLOUT);
    CHECK(!connect_result(connecting->get(), address));
  }
}

TEST_CASE("a plain bind never gets a held port, on any address") {
  const Fd held = hold_port(0).value();
  for (const std::string& ip : machine_ips()) {
    CAPTURE(ip);
    CHECK(!bind_tcp({ip, port_of(held)}));
    CHECK(errno == EADDRINUSE);
  }
}

TEST_CASE("bind(0) and outgoing connects never get a held port") {
  // Many held ports and many tries: if the kernel did not spare them, about six would collide.
  std::vector<Fd> held;
  std::vector<uint16_t> ports;
  for (int i = 0; i < 300; ++i) {
    held.push_back(hold_port(0).value());
    ports.push_back(port_of(held.back()));
  }
  std::ranges::sort(ports);
  CHECK(std::ranges::adjacent_find(ports) == ports.end());

  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  const Address address = local_address(listener.get()).value();
  constexpr linger reset_on_close = {.l_onoff = 1, .l_linger = 0};
  for (int i = 0; i < 600; ++i) {
    const Connection c = connect_to(listener, address);
    setsockopt(c.ours.get(), SOL_SOCKET, SO_LINGER, &reset_on_close, sizeof reset_on_close);
    CHECK(!std::ranges::binary_search(ports, port_of(c.ours)));
    CHECK(!std::ranges::binary_search(ports, port_of(bind_tcp({"0.0.0.0", 0}))));
  }
}

TEST_CASE("a worker that sets either flag can bind a held port and serve on it") {
  constexpr BindOptions either[] = {{.reuse_address = true}, {.reuse_port = true}};
  for (const BindOptions& options : either) {
    for (const std::string& ip : machine_ips()) {
      CAPTURE(options.reuse_port);
      CAPTURE(ip);
      const Fd held = hold_port(0).value();
      const Fd worker = bind_tcp({ip, port_of(held)}, options);
      REQUIRE(worker);
      REQUIRE(listen(worker.get(), 8) == 0);
      const bool v6 = ip.find(':') != std::string::npos;
      const Connection c = connect_to(worker, {v6 ? "::1" : "127.0.0.1", port_of(held)});
      CHECK(::write(c.ours.get(), "x", 1) == 1);
      wait_for(c.theirs, POLLIN);
      char byte = 0;
      CHECK(::read(c.theirs.get(), &byte, 1) == 1);
    }
  }
}

TEST_CASE("a given port is held; one that is in use is an error that names it") {
  Fd held = hold_port(0).value();
  const uint16_t port = port_of(held);
  held.reset();
  held = hold_port(port).value();
  CHECK(port_of(held) == port);

  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  const auto refused = hold_port(port_of(listener));
  REQUIRE(!refused);
  CHECK(refused.error().message ==
        "cannot hold port " + std::to_string(port_of(listener)) + ": Address already in use");
}

}  // namespace
}  // namespace dt
