#include "launcher/discovery/discovery_program.h"

#include "launcher/process/sweep.h"
#include "tests/unit/new_children.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

namespace dt {
namespace {

/// A folder for programs, and a loop that runs them.
struct ProgramFixture {
  TemporaryFolder folder;
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string path = folder.path() + "/hosts.sh";
  std::unique_ptr<DiscoveryProgram> program;
  std::optional<Result<std::string>> result;

  void write(const std::string& body) const {
    folder.write("hosts.sh", "#!/bin/sh\n" + body + "\n", 0700);
  }
  Result<> start(DiscoveryLimits limits = {}) {
    result.reset();
    program = TRY(DiscoveryProgram::start(
        *loop, path, limits, [this](Result<std::string> given) { result = std::move(given); }));
    CHECK_FALSE(result.has_value());
    return {};
  }
  Result<std::string> run(DiscoveryLimits limits = {}) {
    TRY(start(limits));
    run_until(*loop, [this] { return result.has_value(); });
    return *result;
  }
  std::string output_of(const std::string& body) {
    write(body);
    return run().value();
  }
  /// The error's text behind the program's path.
  std::string fault(DiscoveryLimits limits = {}) {
    const auto given = run(limits);
    REQUIRE_FALSE(given.has_value());
    CHECK(given.error().code == Errc::input);
    const std::string lead = "cannot read hosts from " + path + ": ";
    REQUIRE(given.error().message.starts_with(lead));
    return given.error().message.substr(lead.size());
  }
  std::string fault_of(const std::string& body, DiscoveryLimits limits = {}) {
    write(body);
    return fault(limits);
  }
  /// Runs the loop until the predicate holds, which no event of the loop announces.
  template <class Done>
  void poll_until(Done done) const {
    const Time deadline = Clock::now() + seconds(60);
    while (!done()) {
      REQUIRE(Clock::now() < deadline);
      REQUIRE(loop->run_once(loop->now() + milliseconds(5)));
    }
  }
  /// Waits until a program has written the process id of what it has started.
  pid_t pid_in(const std::string& name) const {
    poll_until([&] { return folder.read(name).ends_with("\n"); });
    return static_cast<pid_t>(std::stoi(folder.read(name)));
  }
  /// Waits until no process has this number: it has ended, and its status is collected.
  void await_end(pid_t pid) const {
    poll_until([&] { return ::kill(pid, 0) != 0; });
  }
};

TEST_CASE_FIXTURE(ProgramFixture, "DiscoveryProgram delivers stdout, and not stderr") {
  CHECK(output_of("echo a:4; echo why >&2; echo b") == "a:4\nb\n");
  CHECK(output_of("").empty());
}

TEST_CASE_FIXTURE(ProgramFixture,
                  "DiscoveryProgram: no argument, an empty stdin, folder and variables of ours") {
  setenv("DISCOVERY_TEST", "of the launcher", 1);
  CHECK(output_of("echo $#; cat; echo \"$DISCOVERY_TEST\"; pwd -P") ==
        "0\nof the launcher\n" + std::filesystem::current_path().string() + "\n");
  unsetenv("DISCOVERY_TEST");
  CHECK(output_of("echo $0") == path + "\n");
}

TEST_CASE_FIXTURE(ProgramFixture, "DiscoveryProgram: the program has a process group of its own") {
  const std::string group = output_of("cut -d\" \" -f5 /proc/$$/stat; echo $$");
  int first = 0;
  int second = 0;
  REQUIRE(sscanf(group.c_str(), "%d %d", &first, &second) == 2);
  CHECK(first == second);
  CHECK(first != getpgrp());
}

TEST_CASE_FIXTURE(ProgramFixture, "DiscoveryProgram: a failure has the last lines of stderr") {
  CHECK(fault_of("echo a:4; echo one >&2; printf 'two\\033[2J' >&2; exit 3") ==
        "exit status 3\n  one\n  two\\x1B[2J");
  CHECK(fault_of("kill -SEGV $$").starts_with("killed by SIGSEGV"));
  CHECK(fault_of("exit 127") == "exit status 127");
  const std::string many = fault_of("seq 100000 >&2; exit 1");
  CHECK(many.ends_with("\n  99999\n  100000"));
  CHECK(many.size() < 2 * Tail::bytes_max);
}

TEST_CASE_FIXTURE(ProgramFixture, "DiscoveryProgram: what cannot be run is named with the reason") {
  const auto text = [this] {
    const auto given = run();
    REQUIRE_FALSE(given.has_value());
    CHECK(given.error().code == Errc::input);
    return given.error().message;
  };
  CHECK(text() == "cannot read hosts: cannot run " + path + ": No such file or directory");
  write("echo a");
  REQUIRE(chmod(path.c_str(), 0600) == 0);
  if (geteuid() != 0 || access(path.c_str(), X_OK) != 0)
    CHECK(text() ==
          "cannot read hosts: cannot run " + path + ": Permission denied; try: chmod +x " + path);
  folder.write("hosts.sh", "#!/no/such/shell\n", 0700);
  CHECK(text() == "cannot read hosts from " + path + ": cannot run " + path +
                      ": its interpreter /no/such/shell does not exist");
  path = folder.path();
  CHECK(text() == "cannot read hosts: cannot run " + path + ": Is a directory");
  path = "no_such_program_here";
  CHECK(text() ==
        "cannot read hosts: cannot run ./no_such_program_here: No such file or directory");
  path = "ls";
  CHECK(text() == "cannot read hosts: cannot run ./ls: No such file or directory");
}

TEST_CASE_FIXTURE(ProgramFixture, "DiscoveryProgram ends a program that prints too much") {
  CHECK(fault_of("head -c 1000000 /dev/zero") == "it prints more than 65536 bytes");
  CHECK(fault_of("yes") == "it prints more than 65536 bytes");
  // As much as a pipe holds, so that the program exits before it is read.
  CHECK(fault_of("echo 12345", {.output_bytes_max = 5}) == "it prints more than 5 bytes");
  write("echo 12345");
  CHECK(run({.output_bytes_max = 6}).value() == "12345\n");
  write("head -c 65536 /dev/zero");
  CHECK(run().value().size() == 65536);
}

TEST_CASE_FIXTURE(ProgramFixture, "DiscoveryProgram ends a program that does not end") {
  const DiscoveryLimits soon = {.patience = milliseconds(200)};
  write("trap '' TERM INT; echo a; sleep 600 & echo $! >\"$0.pid\"; wait");
  become_subreaper();
  CHECK(fault(soon) == "it has not ended after 200ms");
  // On a busy machine it was killed before it could start another process.
  if (folder.read("hosts.sh.pid").ends_with("\n")) await_end(pid_in("hosts.sh.pid"));
}

TEST_CASE_FIXTURE(ProgramFixture, "DiscoveryProgram: the limit is over with the program's end") {
  write("echo a");
  const Time begin = loop->now();
  // On a busy machine the limit may pass first; either way there is one result.
  [[maybe_unused]] const auto first =
      run({.patience = milliseconds(300), .kill_patience = milliseconds(10)});
  int results = 0;
  poll_until([&] {
    results += result.has_value() ? 1 : 0;
    result.reset();
    return loop->now() > begin + milliseconds(400);
  });
  CHECK(results == 1);
}

TEST_CASE_FIXTURE(ProgramFixture,
                  "DiscoveryProgram awaits no process that holds the output, and ends it") {
  become_subreaper();
  CHECK(output_of("sleep 600 & echo $! >\"$0.pid\"; echo a:1") == "a:1\n");
  await_end(pid_in("hosts.sh.pid"));
}

TEST_CASE_FIXTURE(ProgramFixture, "DiscoveryProgram: output that is closed early does not end it") {
  CHECK(output_of("echo a; exec >&- 2>&-; sleep 0.1; exit 0") == "a\n");
}

TEST_CASE_FIXTURE(ProgramFixture, "DiscoveryProgram: its destruction ends the program") {
  write("sleep 600 & echo $! >\"$0.pid\"; wait");
  become_subreaper();
  REQUIRE(start());
  const pid_t pid = pid_in("hosts.sh.pid");
  program.reset();
  poll_until([&] {
    // Without this object nobody collects the status of what the program has started.
    reap_strangers([](pid_t) { return false; });
    return ::kill(pid, 0) != 0;
  });
  CHECK_FALSE(result.has_value());
}

TEST_CASE_FIXTURE(ProgramFixture, "DiscoveryProgram leaves no child, whatever happens") {
  become_subreaper();
  const NewChildren children;
  output_of("echo a");
  fault_of("exit 1");
  fault_of("yes");
  fault_of("sleep 600", {.patience = milliseconds(50)});
  poll_until([&] { return children.pids().empty(); });
}

}  // namespace
}  // namespace dt
