#include "launcher/console/input.h"

#include "launcher/protocol/message.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string got;
  int ends = 0;

  std::unique_ptr<InputReader> open(int fd, size_t readers) {
    return InputReader::open(*loop, fd, readers,
                             {.on_bytes = [this](ByteSpan bytes) { got += as_text(bytes); },
                              .on_end = [this] { ++ends; }})
        .value();
  }
};

TEST_CASE_FIXTURE(Fixture, "InputReader reads a pipe to its end") {
  Pipe pipe = make_pipe().value();
  const auto reader = open(pipe.read.get(), 1);
  REQUIRE(write_all(pipe.write.get(), as_bytes("hello")).has_value());
  run_until(*loop, [this] { return got == "hello"; });
  CHECK(ends == 0);
  pipe.write.reset();
  run_until(*loop, [this] { return ends == 1; });
}

TEST_CASE_FIXTURE(
    Fixture,
    "InputReader reads as fast as the slowest reader, and ignores readers that have ended") {
  const TemporaryFolder folder;
  folder.write("file", std::string(4 * stream_window_bytes, 'x'));
  const Fd file(::open((folder.path() + "/file").c_str(), O_RDONLY | O_CLOEXEC));
  const auto reader = open(file.get(), 2);
  run_until(*loop, [this] { return got.size() == stream_window_bytes; });
  reader->taken(0, stream_window_bytes);
  CHECK(loop->run_once(Clock::now() + milliseconds(20)).has_value());
  CHECK(got.size() == stream_window_bytes);
  reader->taken(1, 10);
  run_until(*loop, [this] { return got.size() == stream_window_bytes + 10; });
  reader->reader_ended(1);
  run_until(*loop, [this] { return got.size() == 2 * stream_window_bytes; });
  reader->taken(0, 3 * stream_window_bytes);
  run_until(*loop, [this] { return ends == 1; });
  CHECK(got.size() == 4 * stream_window_bytes);
}

/// Another reader of the same input, which takes all bytes when the loop reports them.
class Thief {
 public:
  Thief(Loop& loop, int fd) : fd_(duplicate(fd).value()) {
    watch_ = loop.watch(fd_.get(), EPOLLIN,
                        [this](uint32_t) {
                          std::array<std::byte, 16> buffer;
                          pollfd ready = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
                          if (poll(&ready, 1, 0) == 1)
                            taken_ += ::read(fd_.get(), buffer.data(), 16);
                        })
                 .value();
  }
  ssize_t taken() const { return taken_; }

 private:
  Fd fd_;
  Watch watch_;
  ssize_t taken_ = 0;
};

TEST_CASE_FIXTURE(Fixture, "InputReader does not wait when another reader has taken all") {
  Pipe pipe = make_pipe().value();
  SocketPair pair = make_socketpair().value();
  const std::vector<std::pair<int, int>> inputs = {{pipe.read.get(), pipe.write.get()},
                                                   {pair.theirs.get(), pair.ours.get()}};
  for (const auto& [from, to] : inputs) {
    // One rival before the reader and one behind it: the loop calls one of them first in any order.
    const Thief first(*loop, from);
    const auto reader = open(from, 1);
    const Thief last(*loop, from);
    REQUIRE(write_all(to, as_bytes("hello")).has_value());
    REQUIRE(loop->run_once(Clock::now() + seconds(10)).has_value());
    CHECK(first.taken() + last.taken() == 5);
    CHECK(got.empty());
    CHECK(ends == 0);
    CHECK((fcntl(from, F_GETFL) & O_NONBLOCK) == 0);
  }
}

TEST_CASE_FIXTURE(Fixture, "InputReader stops when all readers have ended") {
  Pipe pipe = make_pipe().value();
  const auto reader = open(pipe.read.get(), 1);
  reader->reader_ended(0);
  REQUIRE(write_all(pipe.write.get(), as_bytes("hello")).has_value());
  CHECK(loop->run_once(Clock::now() + milliseconds(20)).has_value());
  CHECK(got.empty());
}

}  // namespace
}  // namespace dt
