#include "comm/transport/tcp_socket.h"

#include "base/io/socket.h"
#include "comm/transport/doorbell.h"

#include <doctest/doctest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
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

std::string congestion_control(int fd) {
  std::array<char, 16> name = {};
  socklen_t size = name.size();
  REQUIRE(::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) == 0);
  return name.data();
}

TEST_CASE("a connection has reno where its round trip is short, and cubic where it is long") {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  Fd ours = start_connect(local_address(listener.get()).value()).value();
  choose_congestion_control(ours.get());
  const TcpSocket socket(std::move(ours));
  CHECK(congestion_control(socket.get()) == "reno");
  CHECK(congestion_control_for(std::chrono::microseconds(999)) == "reno");
  CHECK(congestion_control_for(milliseconds(1)) == "cubic");
}

Session session() {
  return {Digest{std::byte{1}}, Digest{std::byte{2}}};
}

TEST_CASE("a socket that connects later asks once, and has neither bytes nor room before") {
  int asked = 0;
  TcpSocket socket([&] { ++asked; });
  CHECK(!socket.connected().value());
  CHECK(!socket.readable());
  CHECK(!socket.writable());
  CHECK(socket.get() == -1);
  CHECK(socket.session() == nullptr);
  socket.connect();
  socket.connect();
  CHECK(asked == 1);
  const auto arrivals = std::make_shared<ReadySet>(10);
  socket.report_to(arrivals, 3);
  CHECK(contents(*arrivals).empty());
  CHECK(socket.open(make_doorbell().value(), session()));
  CHECK(contents(*arrivals) == std::vector<size_t>{3});
  CHECK(socket.connected().value());
  CHECK(socket.writable());
  CHECK(socket.get() >= 0);
  CHECK(socket.session() != nullptr);
  socket.connect();
  CHECK(asked == 1);
  CHECK(!socket.open(make_doorbell().value(), session()));
}

TEST_CASE("a socket that could not connect ends with the reason") {
  TcpSocket socket([] {});
  const auto arrivals = std::make_shared<ReadySet>(10);
  socket.report_to(arrivals, 3);
  socket.connect();
  socket.fail({Errc::timeout, "no answer"});
  CHECK(contents(*arrivals) == std::vector<size_t>{3});
  CHECK(socket.connected().error() == Error{Errc::timeout, "no answer"});
  CHECK(socket.ended());
  CHECK(!socket.open(make_doorbell().value(), session()));
}

TEST_CASE("a socket that was closed first does not open") {
  int asked = 0;
  TcpSocket socket([&] { ++asked; });
  socket.close();
  socket.connect();
  CHECK(asked == 0);
  CHECK(!socket.open(make_doorbell().value(), session()));
  CHECK(socket.get() == -1);
  socket.fail({Errc::timeout, "no answer"});
  CHECK(socket.connected().error().code == Errc::closed);
}

TEST_CASE("a socket that one thread closes while another opens it is one or the other") {
  for (int i = 0; i < 1000; ++i) {
    TcpSocket socket([] {});
    bool opened = false;
    std::thread mesh([&] { opened = socket.open(make_doorbell().value(), session()); });
    socket.close();
    mesh.join();
    CHECK(opened == (socket.get() >= 0));
  }
}

}  // namespace
}  // namespace dt
