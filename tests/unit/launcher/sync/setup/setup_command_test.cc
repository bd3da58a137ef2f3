#include "launcher/sync/setup/setup_command.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/process/sweep.h"
#include "tests/unit/new_children.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace dt {
namespace {

struct Ran {
  std::string output;
  std::string error;  ///< empty: the command succeeded
};

Ran run(SetupCommand command) {
  Ran ran;
  command.environment.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin");
  const Result<> done = run_setup_command(command, [&](std::string_view text) -> Result<> {
    ran.output += text;
    return {};
  });
  if (!done) ran.error = done.error().message;
  CHECK_FALSE(has_children());
  return ran;
}

TEST_CASE("a command has its folder, its variables, no input, and one stream for its output") {
  const TemporaryFolder folder;
  const Ran ran = run({.line = "pwd; echo $A >&2; cat; echo end",
                       .environment = {"A=of the order"},
                       .folder = folder.path()});
  CHECK(ran.error.empty());
  CHECK(ran.output == folder.path() + "\nof the order\nend\n");
}

TEST_CASE("a command that fails is named with its end and its last lines") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"exit 3", "--setup 'exit 3': exit status 3; it has printed nothing"},
      {"kill -9 $$", "--setup 'kill -9 $$': killed by SIGKILL; it has printed nothing"},
      {"seq 12; false",
       "--setup 'seq 12; false': exit status 1; its last lines:\n  3\n  4\n  5\n  6\n  7\n  8\n  "
       "9\n  10\n  11\n  12"},
      {"printf '10%%\\r90%%\\r\\n\\n \\033[31mbad\\n'; exit 1",
       "--setup 'printf '\\''10%%\\r90%%\\r\\n\\n \\033[31mbad\\n'\\''; exit 1': exit status 1; "
       "its "
       "last lines:\n  90%\n   \\x1B[31mbad"}};
  for (const auto& [line, error] : cases) {
    CAPTURE(line);
    CHECK(run({.line = line}).error == error);
  }
  CHECK(run({.line = "true", .folder = "/nothing"}).error ==
        "--setup true: cannot enter /nothing: No such file or directory; it has printed nothing");
}

TEST_CASE("processes that a command leaves behind are ended with it") {
  const TemporaryFolder folder;
  // Both hold the output open. The second ignores SIGTERM, in a session of its own.
  const Ran ran = run({.line = "sleep 600 & echo $! > one; setsid sh -c 'trap \"\" TERM; echo $$ > "
                               "two; while :; do sleep 600; done' & until [ -s two ]; do sleep "
                               "0.01; done; echo end",
                       .folder = folder.path()});
  CHECK(ran.error.empty());
  CHECK(ran.output == "end\n");
  for (const char* name : {"one", "two"}) {
    const auto pid = parse_integer(trim(folder.read(name)));
    REQUIRE(pid);
    CHECK(::kill(static_cast<pid_t>(*pid), 0) != 0);
  }
}

TEST_CASE("a command's group ends with its caller, also if that is killed") {
  become_subreaper();
  const TemporaryFolder folder;
  const NewChildren children;
  const pid_t owner = ::fork();
  REQUIRE(owner >= 0);
  if (owner == 0) {
    static_cast<void>(run_setup_command({.line = "sleep 600 & echo $! >new; mv new pid; wait",
                                         .environment = {"PATH=/usr/bin:/bin"},
                                         .folder = folder.path()},
                                        [](std::string_view) -> Result<> { return {}; }));
    ::_exit(0);
  }
  const Time deadline = Clock::now() + seconds(60);
  const auto await = [&](const auto& done) {
    while (!done()) {
      REQUIRE(Clock::now() < deadline);
      ::poll(nullptr, 0, 5);
    }
  };
  await([&] { return ::access((folder.path() + "/pid").c_str(), F_OK) == 0; });
  // The guard of the group starts after the command, perhaps later than all of its lines.
  await([&] {
    return std::ranges::any_of(find_descendants(), [owner](const Stray& one) {
      return one.parent == owner && one.name == "dtrain-guard";
    });
  });
  const pid_t second = std::stoi(folder.read("pid"));
  CHECK(::kill(second, 0) == 0);
  ::kill(owner, SIGKILL);
  await([&] {
    reap_strangers([](pid_t) { return false; });
    return ::kill(second, 0) != 0 && children.pids().empty();
  });
}

TEST_CASE("a command that runs too long is ended, also if it ignores SIGTERM") {
  const Ran ran = run({.line = "trap '' TERM; echo waits; while :; do sleep 600; done",
                       .deadline = Clock::now() + seconds(1),
                       .timeout = seconds(1)});
  CHECK(
      ran.error ==
      "--setup 'trap '\\'''\\'' TERM; echo waits; while :; do sleep 600; done': it was ended after "
      "1s, which --setup-timeout allows for all commands; its last lines:\n  waits");
}

TEST_CASE("100 MB of output pass through, and nothing else of them is kept") {
  uint64_t bytes = 0;
  size_t longest = 0;
  const SetupCommand command{.line = "head -c 100000000 /dev/zero | tr '\\0' x; exit 1",
                             .environment = {"PATH=/usr/bin:/bin"}};
  const Result<> done = run_setup_command(command, [&](std::string_view text) -> Result<> {
    bytes += text.size();
    longest = std::max(longest, text.size());
    return {};
  });
  CHECK(bytes == 100'000'000);
  CHECK(longest <= size_t{64} << 10);
  REQUIRE(!done);
  CHECK(done.error().message.size() < 1000);
}

TEST_CASE("a command ends when nobody takes its output") {
  int calls = 0;
  const Result<> done = run_setup_command({.line = "yes", .environment = {"PATH=/usr/bin:/bin"}},
                                          [&](std::string_view) -> Result<> {
                                            ++calls;
                                            return fail(Errc::closed, "the launcher is gone");
                                          });
  REQUIRE(!done);
  CHECK(done.error() == Error{.code = Errc::closed, .message = "the launcher is gone"});
  CHECK(calls == 1);
  CHECK_FALSE(has_children());
}

TEST_CASE("the last lines of a long output are the last ones") {
  LastLines last;
  for (int i = 0; i < 100'000; ++i)
    last.add(format("line {}\n", i));
  const std::vector<std::string> lines = last.lines();
  REQUIRE(lines.size() == LastLines::lines_max);
  CHECK(lines.front() == "line 99990");
  CHECK(lines.back() == "line 99999");
}

}  // namespace
}  // namespace dt
