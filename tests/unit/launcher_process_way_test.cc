#include "launcher/process_way.h"

#include <doctest/doctest.h>

#include <csignal>
#include <optional>

namespace dt {
namespace {

/// A shell's script as a way, and what it told.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string received = {};
  std::optional<Way::End> end = {};
  std::unique_ptr<ProcessWay> way = {};

  void start(const std::string& script, bool is_client = true) {
    const auto explain = [](const ProcessWay::Facts& facts) {
      return Way::End{.why = facts.status ? facts.status->text() : "runs", .said = facts.said};
    };
    way = ProcessWay::open(*loop, start_client({"sh", "-c", script}).value(),
                           {.is_client = is_client, .explain = explain},
                           {.on_bytes =
                                [this](ByteSpan bytes) {
                                  received += as_text(bytes);
                                  return bytes.size();
                                },
                            .on_end = [this](Way::End how) { end = std::move(how); }})
              .value();
  }
  template <class Done>
  void run_until(Done done) const {
    const Time deadline = Clock::now() + seconds(30);
    while (!done()) {
      REQUIRE(Clock::now() < deadline);
      REQUIRE(loop->run_once(deadline));
    }
  }
};

TEST_CASE("bytes go both ways, and the end tells status and stderr") {
  Fixture f;
  f.start("echo hello; read line; echo got $line; echo bad >&2; exit 4");
  f.run_until([&] { return f.received == "hello\n"; });
  f.way->write(as_bytes("it\n"));
  f.run_until([&] { return f.end.has_value(); });
  CHECK(f.received == "hello\ngot it\n");
  CHECK(f.end->why == "exit status 4");
  CHECK(f.end->said == "bad\n");
  CHECK(f.way->over());
}

TEST_CASE("closing is the end of its input") {
  Fixture f;
  f.start("echo up; cat");
  f.run_until([&] { return f.received == "up\n"; });
  f.way->write(as_bytes("rest"));
  f.way->close_after_sending();
  f.run_until([&] { return f.end.has_value(); });
  CHECK(f.received == "up\nrest");
  CHECK(f.end->why == "exit status 0");
}

TEST_CASE("a client that is hung up is gone at once, with what it started") {
  Fixture f;
  f.start("sleep 60 & echo $!; wait");
  f.run_until([&] { return f.received.ends_with('\n'); });
  f.way->hang_up();
  CHECK(f.way->over());
  const pid_t started = static_cast<pid_t>(std::stoi(f.received));
  const Time deadline = Clock::now() + seconds(30);
  while (kill(started, 0) == 0 && Clock::now() < deadline)
    REQUIRE(f.loop->run_once(Clock::now() + milliseconds(1)));
  CHECK(kill(started, 0) != 0);
  CHECK_FALSE(f.end);
}

TEST_CASE("an agent that is hung up cleans up first") {
  Fixture f;
  f.start("echo up; cat >/dev/null; exit 0", false);
  f.run_until([&] { return f.received == "up\n"; });
  f.way->hang_up();
  CHECK_FALSE(f.way->over());
  f.run_until([&] { return f.way->over(); });
  CHECK_FALSE(f.end);
}

TEST_CASE("an agent that stays is killed where that is asked") {
  Fixture f;
  f.start("trap : TERM; echo up; while :; do sleep 1; done", false);
  f.run_until([&] { return f.received == "up\n"; });
  f.way->hang_up();
  f.way->kill();
  CHECK(f.way->over());
}

}  // namespace
}  // namespace dt
