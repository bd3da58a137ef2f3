#include "comm/transport/local_socket.h"

#include "base/crypto.h"
#include "base/io/socket.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <string>

namespace dt {
namespace {

struct LocalPair {
  Fd dialer;
  Fd acceptor;
};

LocalPair connected() {
  const std::string name = "dtrain-test-" + random_name(16).value();
  const Fd listener = listen_local(name).value();
  Fd dialer = connect_local(name).value();
  return {std::move(dialer), accept_one(listener.get()).value()};
}

TEST_CASE("a local socket passes descriptors, which the receiver holds close-on-exec") {
  const LocalPair pair = connected();
  const Pipe pipe = make_pipe().value();
  const std::array descriptors = {pipe.write.get()};
  REQUIRE(send_descriptors(pair.dialer.get(), as_bytes("x"), descriptors).has_value());
  std::array<std::byte, 16> into;
  std::vector<Fd> got;
  REQUIRE(receive_descriptors(pair.acceptor.get(), into, got).value() == 1);
  REQUIRE(got.size() == 1);
  CHECK((fcntl(got[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE(write_all(got[0].get(), as_bytes("hi")).has_value());
  CHECK(read(pipe.read.get(), into.data(), into.size()) == 2);
}

TEST_CASE("a local socket with nothing on it gives nothing, and an ended one fails") {
  LocalPair pair = connected();
  std::array<std::byte, 16> into;
  std::vector<Fd> got;
  CHECK(receive_descriptors(pair.acceptor.get(), into, got).value() == 0);
  pair.dialer.reset();
  CHECK(receive_descriptors(pair.acceptor.get(), into, got).error().code == Errc::closed);
}

TEST_CASE("a process of the same user may be at the other end of a local socket") {
  const LocalPair pair = connected();
  CHECK(require_same_user(pair.acceptor.get()).has_value());
  CHECK(require_same_user(pair.dialer.get()).has_value());
}

TEST_CASE("a local socket that nobody listens on cannot be reached") {
  const std::string name = "dtrain-test-" + random_name(16).value();
  CHECK(connect_local(name).error().code == Errc::unreachable);
  CHECK(connect_local("").error().code == Errc::protocol);
  CHECK(connect_local(std::string(200, 'x')).error().code == Errc::protocol);
}

}  // namespace
}  // namespace dt
