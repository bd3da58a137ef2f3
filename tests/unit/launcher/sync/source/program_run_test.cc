#include "launcher/sync/source/program_run.h"

#include "tests/unit/new_children.h"

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <utility>

namespace dt {
namespace {

ProgramRun::Request shell(std::string line) {
  return {.command = {"sh", "-c", std::move(line)},
          .environment = {{"PATH", "/usr/bin:/bin"}, {"NAME", "value"}},
          .folder = "/",
          .output_bytes_max = size_t{1} << 20,
          .patience = seconds(60)};
}

TEST_CASE("a program's output, messages and status are returned") {
  auto run = ProgramRun::start(shell("pwd; echo $NAME; echo bad >&2; exit 3"));
  REQUIRE(run);
  const auto end = run->finish();
  REQUIRE(end);
  CHECK(end->output == "/\nvalue\n");
  CHECK(end->messages == "bad\n");
  CHECK(end->status.code == 3);
}

TEST_CASE("output of more bytes than a pipe holds is whole, and messages are cut") {
  auto run = ProgramRun::start(shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"));
  REQUIRE(run);
  const auto end = run->finish();
  REQUIRE(end);
  CHECK(end->output.size() == 1000000);
  CHECK(end->messages.size() == ProgramEnd::messages_bytes_max);
}

TEST_CASE("a program that prints too much is killed") {
  const NewChildren children;
  auto run = ProgramRun::start(shell("exec yes"));
  REQUIRE(run);
  const auto end = run->finish();
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Errc::input);
  CHECK(end.error().message.find("printed more than 1048576 bytes") != std::string::npos);
  CHECK(children.pids().empty());
}

TEST_CASE("a program that does not end in time is killed") {
  const NewChildren children;
  ProgramRun::Request request = shell("exec sleep 1000");
  request.patience = milliseconds(10);
  auto run = ProgramRun::start(std::move(request));
  REQUIRE(run);
  const auto end = run->finish();
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Errc::timeout);
  CHECK(children.pids().empty());
}

TEST_CASE("a program that nobody waits for is killed, and one that is left behind holds nothing") {
  const NewChildren children;
  { CHECK(ProgramRun::start(shell("exec sleep 1000"))); }
  CHECK(children.pids().empty());
  auto run = ProgramRun::start(shell("sleep 1000 & echo $!"));
  REQUIRE(run);
  const auto end = run->finish();
  REQUIRE(end);
  CHECK(::kill(std::stoi(end->output), SIGKILL) == 0);
}

TEST_CASE("a program that is not there is an error") {
  ProgramRun::Request request = shell("");
  request.command = {"no-such-program"};
  const auto run = ProgramRun::start(std::move(request));
  REQUIRE_FALSE(run);
  CHECK(run.error().code == Errc::not_found);
}

}  // namespace
}  // namespace dt
