#include "base/io/fd.h"

#include "base/bytes.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace dt {
namespace {

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}
bool closes_on_exec(const Fd& fd) {
  return (fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0;
}
bool blocks(const Fd& fd) {
  return (fcntl(fd.get(), F_GETFL) & O_NONBLOCK) == 0;
}

TEST_CASE("an Fd closes its descriptor when it is destroyed, and only then") {
  Pipe pipe = make_pipe().value();
  const int number = pipe.read.get();
  {
    const Fd moved = std::move(pipe.read);
    CHECK(is_open(number));
  }
  CHECK(!is_open(number));
}

TEST_CASE("moving onto an Fd closes what it had, and moving onto itself nothing") {
  Pipe pipe = make_pipe().value();
  const int read = pipe.read.get();
  const int write = pipe.write.get();
  pipe.read = std::move(pipe.write);
  CHECK(!is_open(read));
  CHECK(pipe.read.get() == write);
  Fd& same = pipe.read;
  pipe.read = std::move(same);
  CHECK(is_open(write));
}

TEST_CASE("release gives the descriptor away, reset closes it") {
  Pipe pipe = make_pipe().value();
  const Fd kept(pipe.read.release());
  CHECK(!pipe.read);
  CHECK(is_open(kept.get()));
  const int write = pipe.write.get();
  pipe.write.reset();
  CHECK(!is_open(write));
}

TEST_CASE("pipes and socket pairs close on exec, block and carry bytes") {
  const Pipe pipe = make_pipe().value();
  const SocketPair pair = make_socketpair().value();
  for (const Fd* fd : {&pipe.read, &pipe.write, &pair.ours, &pair.theirs}) {
    CHECK(closes_on_exec(*fd));
    CHECK(blocks(*fd));
  }
  char byte = 0;
  REQUIRE(write_all(pipe.write.get(), as_bytes("p")));
  CHECK(::read(pipe.read.get(), &byte, 1) == 1);
  CHECK(byte == 'p');
  REQUIRE(write_all(pair.ours.get(), as_bytes("s")));
  CHECK(::read(pair.theirs.get(), &byte, 1) == 1);
  CHECK(byte == 's');
}

TEST_CASE("set_nonblocking makes a read return at once") {
  const Pipe pipe = make_pipe().value();
  REQUIRE(set_nonblocking(pipe.read.get()));
  char byte = 0;
  CHECK(::read(pipe.read.get(), &byte, 1) == -1);
  CHECK(errno == EAGAIN);
  CHECK(!set_nonblocking(-1));
}

TEST_CASE("a duplicate closes on exec and outlives the original") {
  Pipe pipe = make_pipe().value();
  const Fd copy = duplicate(pipe.write.get()).value();
  CHECK(closes_on_exec(copy));
  pipe.write.reset();
  REQUIRE(write_all(copy.get(), as_bytes("x")));
  CHECK(!duplicate(-1));
}

TEST_CASE("write_all fails with the reason") {
  const Pipe pipe = make_pipe().value();
  const Result<> written = write_all(pipe.read.get(), as_bytes("x"));
  REQUIRE(!written);
  CHECK(written.error() == Error{Errc::os, "write: Bad file descriptor"});
}

}  // namespace
}  // namespace dt
