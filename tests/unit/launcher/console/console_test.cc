#include "launcher/console/console.h"

#include "tests/unit/launcher/console/sink_fixture.h"

#include <doctest/doctest.h>

#include <unistd.h>

namespace dt {
namespace {

using Fixture = SinkFixture;

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
