#include "launcher/sync/group_guard.h"

#include "launcher/process/child.h"
#include "launcher/process/sweep.h"
#include "tests/unit/new_children.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace dt {
namespace {

/// A group of two processes; the second one has written its pid when this returns.
struct GuardedGroup {
  TemporaryFolder folder;

  Child start() const {
    return Child::start(
               {.path = "/bin/sh",
                .arguments = {"sh", "-c",
                              "sleep 600 & echo $! >\"$0.new\"; mv \"$0.new\" \"$0\"; wait",
                              folder.path() + "/pid"},
                .environment = {"PATH=/usr/bin:/bin"},
                .cwd = {},
                .new_session = true})
        .value();
  }
  bool has(const std::string& file) const {
    return access((folder.path() + "/" + file).c_str(), F_OK) == 0;
  }
  pid_t second() const { return std::stoi(folder.read("pid")); }
};

/// Polls, since no event announces the end of a stranger's child.
template <class Done>
void await(Done done) {
  const Time deadline = Clock::now() + seconds(60);
  while (!done()) {
    REQUIRE(Clock::now() < deadline);
    ::poll(nullptr, 0, 5);
  }
}

TEST_CASE("GroupGuard kills all processes of the group when this process is killed") {
  become_subreaper();
  const GuardedGroup group;
  const NewChildren children;
  const pid_t owner = ::fork();
  REQUIRE(owner >= 0);
  if (owner == 0) {
    const Child child = group.start();
    const auto guard = GroupGuard::start(child.pid());
    if (guard) group.folder.write("guarded", "");
    for (;;)
      ::poll(nullptr, 0, -1);
  }
  await([&] { return group.has("pid") && group.has("guarded"); });
  CHECK(::kill(group.second(), 0) == 0);
  ::kill(owner, SIGKILL);
  await([&] {
    reap_strangers([](pid_t) { return false; });
    return ::kill(group.second(), 0) != 0 && children.pids().empty();
  });
}

TEST_CASE("GroupGuard: its destruction leaves the group alone, and no process") {
  const GuardedGroup group;
  Child child = group.start();
  await([&] { return group.has("pid"); });
  const NewChildren children;
  {
    const auto guard = GroupGuard::start(child.pid());
    REQUIRE(guard.has_value());
    CHECK(children.pids().size() == 1);
  }
  CHECK(children.pids().empty());
  CHECK(::kill(group.second(), 0) == 0);
  CHECK(child.kill(seconds(60))->signal == SIGKILL);
}

}  // namespace
}  // namespace dt
