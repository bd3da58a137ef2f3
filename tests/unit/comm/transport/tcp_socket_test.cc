#include "comm/transport/tcp_socket.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

std::vector<size_t> contents(ReadySet& set) {
  std::vector<size_t> indices;
  set.for_each([&](size_t index) { indices.push_back(index); });
  return indices;
}

TEST_CASE("a new socket may be readable and writable; each flag is taken once") {
  TcpSocket socket{Fd()};
  CHECK(socket.take_readable());
  CHECK(!socket.take_readable());
  CHECK(socket.take_writable());
  CHECK(!socket.take_writable());
  socket.report({.readable = true});
  CHECK(socket.readable());
  CHECK(!socket.writable());
  socket.report({.writable = true});
  CHECK(socket.writable());
  CHECK(!socket.ended());
}

TEST_CASE("a socket adds its index when it becomes readable or ends, not when it is writable") {
  TcpSocket socket{Fd()};
  const auto arrivals = std::make_shared<ReadySet>(10);
  CHECK(socket.take_readable());
  socket.report_to(arrivals, 3);
  CHECK(contents(*arrivals).empty());
  socket.report({.writable = true});
  CHECK(contents(*arrivals).empty());
  socket.report({.ended = true});
  CHECK(contents(*arrivals) == std::vector<size_t>{3});
  CHECK(socket.readable());
  CHECK(socket.ended());
}

}  // namespace
}  // namespace dt
