#include "launcher/connect/process_connection.h"

#include <doctest/doctest.h>

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

namespace dt {
namespace {

/// A shell's script as a way, and what it told.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string received = {};
  std::optional<AgentConnection::End> end = {};
  std::unique_ptr<ProcessConnection> way = {};

  void start(const std::string& script, bool is_client = true) {
    const auto explain = [](const ProcessConnection::Facts& facts) {
      return AgentConnection::End{.why = facts.status ? facts.status->text() : "runs",
                                  .said = facts.said};
    };
    way = ProcessConnection::open(
              *loop, start_client({"sh", "-c", script}).value(),
              {.is_client = is_client, .explain = explain},
              {.on_bytes =
                   [this](ByteSpan bytes) {
                     received += as_text(bytes);
                     return bytes.size();
                   },
               .on_end = [this](AgentConnection::End how) { end = std::move(how); }})
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

/// Another process that traces this one: its parent cannot collect it, as if the kernel held it.
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
    char word = 'n';
    CHECK(::read(answer.read.get(), &word, 1) == 1);
    traces_ = word == 'y';
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

TEST_CASE("a client that does not end when it is killed is left, and collected by others later") {
  Fixture f;
  f.start("echo $$; read line");
  f.run_until([&] { return f.received.ends_with('\n'); });
  const pid_t client = static_cast<pid_t>(std::stoi(f.received));
  CHECK(f.way->owns(client));
  CHECK_FALSE(f.way->owns(getpid()));
  {
    const Tracer tracer(client);
    if (!tracer.traces()) {
      MESSAGE("no process may trace another one here");
      return;
    }
    f.way->hang_up();
    CHECK(f.way->over());
    CHECK_FALSE(f.way->owns(client));
  }
  CHECK(waitpid(client, nullptr, 0) == client);
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
