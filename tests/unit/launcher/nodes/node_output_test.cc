#include "launcher/nodes/node_output.h"

#include "tests/sim/job/virtual_loop.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace dt {
namespace {

constexpr uint32_t output_of_first = 2;  // 1 + TaskStream::output

/// The output of one task, whose reader is a pipe that the test reads when it wants.
struct OutputFixture {
  VirtualTime time = {};
  std::unique_ptr<VirtualLoop> turns = VirtualLoop::create(time, {}).value();
  std::unique_ptr<Loop> loop = Loop::create().value();
  Pipe pipe = make_pipe().value();
  TemporaryFolder folder = {};
  std::string logged = {};
  Log log{Log::Level::normal, [this](std::string_view line) { logged += line; }};
  std::unique_ptr<Sink> out = Sink::open(*loop, pipe.write.get(), [](const Error&) {}).value();
  size_t taken = 0;
  int rooms = 0;
  NodeOutput output{{*turns, log, *out, *out},
                    {.tags = false},
                    seconds(10),
                    {.on_taken = [this](uint32_t, size_t bytes) { taken += bytes; },
                     .on_room = [this] { ++rooms; }}};

  OutputFixture() {
    Launch launch;
    launch.tasks.push_back({.id = {"worker", 1}, .rank = 1, .local_rank = 0});
    REQUIRE(output.begin(launch).has_value());
  }
  void add(const std::string& text) { output.add(output_of_first, as_bytes(text)); }
  /// More than the pipe takes, up to the bound of what waits.
  void fill() {
    const std::string line(65535, 'x');
    while (!output.is_full())
      add(line + "\n");
  }
  void pass(Duration duration) {
    time.now += duration;
    while (turns->turn()) {
    }
  }
  std::string read_all() {
    std::string text;
    std::array<char, 65536> buffer = {};
    REQUIRE(::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) == 0);
    while (true) {
      const ssize_t n = ::read(pipe.read.get(), buffer.data(), buffer.size());
      if (n > 0) text.append(buffer.data(), static_cast<size_t>(n));
      if (n <= 0 && out->drained()) return text;
      REQUIRE(loop->run_once(Clock::now() + milliseconds(5)).has_value());
    }
  }
};

TEST_CASE_FIXTURE(OutputFixture, "NodeOutput prints its tasks, and counts what is taken") {
  add("one\n");
  output.add(output_of_first + 2, as_bytes("a result"));
  output.add(output_of_first + 4, as_bytes("of another task\n"));
  CHECK(read_all() == "one\n");
  CHECK(taken == 4);
  CHECK(output.has_tasks());
  CHECK_FALSE(output.waits());
}

TEST_CASE_FIXTURE(OutputFixture, "NodeOutput: a slow reader holds the tasks, and gets all") {
  fill();
  CHECK(output.waits());
  pass(seconds(9));
  CHECK(output.is_full());
  const std::string text = read_all();
  CHECK(text.size() == taken);
  CHECK(rooms > 0);
  pass(seconds(20));
  CHECK_FALSE(output.is_full());
  CHECK(logged.empty());
}

TEST_CASE_FIXTURE(OutputFixture,
                  "NodeOutput: a reader that stops loses what comes, and holds none") {
  fill();
  rooms = 0;
  pass(seconds(11));
  CHECK_FALSE(output.is_full());
  CHECK_FALSE(output.waits());
  CHECK(rooms == 1);
  CHECK(logged.find("nobody has read the output of this node for 10s") != std::string::npos);
  const size_t before = taken;
  for (int i = 0; i < 1000; ++i)
    add("lost\n");
  CHECK(taken == before + 5000);
  // The reader is there again.
  CHECK(read_all().find("lost") == std::string::npos);
  CHECK(logged.find("5000 bytes of the output of this node are not shown here") !=
        std::string::npos);
  add("rest of a line\nwhole\n");
  CHECK(read_all() == "…\nwhole\n");
  add("next\n");
  CHECK(read_all() == "next\n");
}

TEST_CASE_FIXTURE(OutputFixture, "NodeOutput: at the end, any text is awaited as long") {
  const std::string text(200000, 'x');
  add(text + "\n");
  pass(seconds(60));
  CHECK(output.waits());
  output.close();
  pass(seconds(9));
  CHECK(output.waits());
  pass(seconds(2));
  CHECK_FALSE(output.waits());
  CHECK(read_all().size() == text.size() + 1);
}

TEST_CASE_FIXTURE(OutputFixture, "NodeOutput: a user who waits no longer gets no more") {
  fill();
  output.stop_waiting();
  CHECK_FALSE(output.waits());
  CHECK_FALSE(output.is_full());
}

}  // namespace
}  // namespace dt
