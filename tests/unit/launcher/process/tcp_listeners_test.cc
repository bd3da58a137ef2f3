#include "launcher/process/tcp_listeners.h"

#include "base/io/socket.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace dt {
namespace {

/// The entry that the kernel should return for this listener.
TcpListener listed_as(const Fd& listener) {
  struct stat status = {};
  REQUIRE(::fstat(listener.get(), &status) == 0);
  return {.port = local_address(listener.get()).value().port,
          .uid = geteuid(),
          .inode = static_cast<uint32_t>(status.st_ino)};
}

TEST_CASE("tcp_listeners shows what listens, with its user, and nothing else") {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  const Fd held = hold_port(0).value();
  const auto all = tcp_listeners().value();
  CHECK(std::ranges::count(all, listed_as(listener)) == 1);
  const uint16_t silent = local_address(held.get()).value().port;
  CHECK(std::ranges::count(all, silent, &TcpListener::port) == 0);
}

TEST_CASE("tcp_listeners shows listeners of IPv6, too") {
  const auto listener = listen_on({"::1", 0});
  if (!listener) return;  // a machine without IPv6
  CHECK(std::ranges::count(tcp_listeners().value(), listed_as(*listener)) == 1);
}

TEST_CASE("tcp_listeners shows them all, however many") {
  std::vector<Fd> listeners;
  for (int i = 0; i < 700; ++i)
    listeners.push_back(listen_on({"127.0.0.1", 0}).value());
  const auto all = tcp_listeners().value();
  const bool each = std::ranges::all_of(listeners, [&](const Fd& listener) {
    return std::ranges::count(all, listed_as(listener)) == 1;
  });
  CHECK(each);
}

}  // namespace
}  // namespace dt
