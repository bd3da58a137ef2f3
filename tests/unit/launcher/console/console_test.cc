#include "launcher/console/console.h"

#include <doctest/doctest.h>

#include <unistd.h>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  int written = 0;

  void write(Sink& sink, std::string text) {
    sink.write(std::move(text), [this] { ++written; });
  }
  /// Makes the descriptor non-blocking, and runs the loop until `size` bytes were read from it.
  std::string read(int fd, size_t size) {
    CHECK(set_nonblocking(fd).has_value());
    std::string all;
    const Time deadline = Clock::now() + seconds(10);
    while (all.size() < size && Clock::now() < deadline) {
      char buffer[4096];
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n > 0) all.append(buffer, static_cast<size_t>(n));
      CHECK(loop->run_once(Clock::now() + (n > 0 ? seconds(0) : milliseconds(1))).has_value());
    }
    return all;
  }
};

TEST_CASE_FIXTURE(Fixture,
                  "Console: two descriptors of one pipe share a Sink, and lines stay whole") {
  Pipe pipe = make_pipe().value();
  const Fd second = duplicate(pipe.write.get()).value();
  Console console =
      Console::open(*loop, {.out = second.get(), .err = pipe.write.get()}, {}).value();
  // Far more than the pipe holds, so that each text is written in parts.
  const std::string out_line = std::string(200'000, 'o') + "\n";
  const std::string err_line = std::string(200'000, 'e') + "\n";
  write(console.out(), out_line);
  write(console.err(), err_line);
  write(console.out(), out_line);
  CHECK_FALSE(console.drained());
  const std::string all = out_line + err_line + out_line;
  CHECK(read(pipe.read.get(), all.size()) == all);
  CHECK(console.drained());
  CHECK(written == 3);
}

TEST_CASE_FIXTURE(Fixture, "Console: a full stdout does not delay a stderr that is another pipe") {
  Pipe out = make_pipe().value();
  Pipe err = make_pipe().value();
  Console console =
      Console::open(*loop, {.out = out.write.get(), .err = err.write.get()}, {}).value();
  write(console.out(), std::string(size_t{1} << 20, 'o'));
  CHECK(written == 0);
  write(console.err(), "e\n");
  CHECK(written == 1);
  CHECK_FALSE(console.drained());
  console.forget_writers();
  CHECK(read(out.read.get(), size_t{1} << 20).size() == size_t{1} << 20);
  CHECK(written == 1);
}

TEST_CASE_FIXTURE(Fixture, "Console: two streams that were closed at the start drop text") {
  Console console = Console::open(*loop, {.out = -1, .err = -1}, {}).value();
  write(console.out(), "a");
  write(console.err(), "b");
  CHECK(written == 2);
  CHECK(console.drained());
}

}  // namespace
}  // namespace dt
