#include "launcher/connect/process_connection.h"

#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

namespace dt {
namespace {

/// A connection to a shell script, and the results of its handlers.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string received = {};
  std::optional<AgentConnection::CloseReason> end = {};
  std::unique_ptr<ProcessConnection> connection = {};

  void start(const std::string& script, bool is_client = true) {
    const auto explain = [](const ProcessConnection::Facts& facts) {
      return AgentConnection::CloseReason{.why = facts.status ? facts.status->text() : "runs",
                                          .stderr_text = facts.stderr_text};
    };
    connection = ProcessConnection::open(
                     *loop, start_client({"sh", "-c", script}).value(),
                     {.is_client = is_client, .explain = explain},
                     {.on_bytes =
                          [this](ByteSpan bytes) {
                            received += as_text(bytes);
                            return bytes.size();
                          },
                      .on_end = [this](AgentConnection::CloseReason how) { end = std::move(how); }})
                     .value();
  }
};

TEST_CASE("bytes pass in both directions, and the end has status and stderr") {
  Fixture f;
  f.start("echo hello; read line; echo got $line; echo bad >&2; exit 4");
  run_until(*f.loop, [&] { return f.received == "hello\n"; });
  f.connection->write(as_bytes("it\n"));
  run_until(*f.loop, [&] { return f.end.has_value(); });
  CHECK(f.received == "hello\ngot it\n");
  CHECK(f.end->why == "exit status 4");
  CHECK(f.end->stderr_text == "bad\n");
  CHECK(f.connection->ended());
}

TEST_CASE("closing ends the input of the process") {
  Fixture f;
  f.start("echo up; cat");
  run_until(*f.loop, [&] { return f.received == "up\n"; });
  f.connection->write(as_bytes("rest"));
  f.connection->close_after_sending();
  run_until(*f.loop, [&] { return f.end.has_value(); });
  CHECK(f.received == "up\nrest");
  CHECK(f.end->why == "exit status 0");
}

TEST_CASE("hang_up() ends a client at once, with the processes that it started") {
  Fixture f;
  f.start("sleep 60 & echo $!; wait");
  run_until(*f.loop, [&] { return f.received.ends_with('\n'); });
  f.connection->hang_up();
  CHECK(f.connection->ended());
  const pid_t started = static_cast<pid_t>(std::stoi(f.received));
  const Time deadline = Clock::now() + seconds(30);
  while (kill(started, 0) == 0 && Clock::now() < deadline) {
    REQUIRE(f.loop->run_once(Clock::now() + milliseconds(1)));
    // This process inherits it if another test has made it a subreaper.
    waitpid(started, nullptr, WNOHANG);
  }
  CHECK(kill(started, 0) != 0);
  CHECK_FALSE(f.end);
}

/// A process that traces another one, whose parent then cannot reap it, as if the kernel held it.
class Tracer {
 public:
  explicit Tracer(pid_t traced) {
    const Pipe answer = make_pipe().value();
    pid_ = ::fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const bool traces = ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0;
      static_cast<void>(write_all(answer.write.get(), as_bytes(traces ? "y" : "n")));
      for (;;)
        pause();
    }
    char answered = 'n';
    CHECK(::read(answer.read.get(), &answered, 1) == 1);
    traces_ = answered == 'y';
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool traces() const { return traces_; }

 private:
  pid_t pid_ = 0;
  bool traces_ = false;
};

TEST_CASE("a client that does not end when it is killed is left, and reaped by others later") {
  Fixture f;
  f.start("echo $$; read line");
  run_until(*f.loop, [&] { return f.received.ends_with('\n'); });
  const pid_t client = static_cast<pid_t>(std::stoi(f.received));
  CHECK(f.connection->owns(client));
  CHECK_FALSE(f.connection->owns(getpid()));
  {
    const Tracer tracer(client);
    if (!tracer.traces()) {
      MESSAGE("no process may trace another one here");
      return;
    }
    f.connection->hang_up();
    CHECK(f.connection->ended());
    CHECK_FALSE(f.connection->owns(client));
  }
  CHECK(waitpid(client, nullptr, 0) == client);
}

TEST_CASE("after hang_up() an agent cleans up first") {
  Fixture f;
  f.start("echo up; cat >/dev/null; exit 0", false);
  run_until(*f.loop, [&] { return f.received == "up\n"; });
  f.connection->hang_up();
  CHECK_FALSE(f.connection->ended());
  run_until(*f.loop, [&] { return f.connection->ended(); });
  CHECK_FALSE(f.end);
}

TEST_CASE("kill() ends an agent that stays") {
  Fixture f;
  f.start("trap : TERM; echo up; while :; do sleep 1; done", false);
  run_until(*f.loop, [&] { return f.received == "up\n"; });
  f.connection->hang_up();
  f.connection->kill();
  CHECK(f.connection->ended());
}

}  // namespace
}  // namespace dt
