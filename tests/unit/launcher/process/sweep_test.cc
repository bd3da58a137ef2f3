#include "launcher/process/sweep.h"

#include "launcher/process/child.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>

namespace dt {
namespace {

/// Starts a shell with this script; returns when it has printed "ready".
Child start_family(const std::string& script) {
  Pipe pipe = make_pipe().value();
  Child child = Child::start({.path = "/bin/sh",
                              .arguments = {"sh", "-c", script},
                              .environment = {"PATH=/usr/bin:/bin"},
                              .output = pipe.write.get()})
                    .value();
  pipe.write.reset();
  char ready[16];
  CHECK(::read(pipe.read.get(), ready, sizeof ready) > 0);
  return child;
}

Sweep::Report sweep(Duration patience) {
  const auto loop = Loop::create().value();
  std::optional<Sweep::Report> report;
  const Sweep running(*loop, {.patience = patience}, [&](Sweep::Report done) {
    report = std::move(done);
    loop->stop();
  });
  if (!report) CHECK(loop->run().has_value());
  return *report;
}

TEST_CASE("Sweep ends daemonised helpers, even those that ignore TERM") {
  become_subreaper();
  const Child parent = start_family(
      "setsid sh -c 'trap \"\" TERM; echo ready; while :; do sleep 0.05; done' & sleep 60");
  CHECK(find_descendants().size() >= 2);
  const Sweep::Report report = sweep(milliseconds(200));
  CHECK(report.ended >= 2);
  CHECK(report.unkillable.empty());
  CHECK_FALSE(has_children());
}

TEST_CASE("Sweep is done at once when there is no process") {
  CHECK_FALSE(has_children());
  CHECK(sweep(seconds(60)).ended == 0);
}

TEST_CASE("find_descendants sees grandchildren by pid and name") {
  become_subreaper();
  const Child parent = start_family("sleep 60 & echo ready; wait");
  const std::vector<Stray> strays = find_descendants();
  REQUIRE(strays.size() == 2);
  CHECK(std::ranges::any_of(
      strays, [&](const Stray& s) { return s.pid == parent.pid() && s.name == "sh"; }));
  CHECK(sweep(seconds(5)).ended >= 1);
}

TEST_CASE("a signal goes to those descendants alone that catch it, also to stopped ones") {
  become_subreaper();
  const Child parent = start_family(
      "(trap 'echo caught >&2; exit 3' USR1; kill -STOP $(exec sh -c 'echo $PPID'); sleep 60) & "
      "until grep -q '^State:.T' /proc/$!/status; do sleep 0.01; done; echo ready; wait $!; exit "
      "$?");
  signal_catching_descendants(SIGUSR1);
  // The parent has no handler: the signal would have ended it before its own end.
  siginfo_t end = {};
  REQUIRE(waitid(P_PID, static_cast<id_t>(parent.pid()), &end, WEXITED | WNOWAIT) == 0);
  CHECK(end.si_code == CLD_EXITED);
  CHECK(end.si_status == 3);
  sweep(milliseconds(100));
}

TEST_CASE("reap_strangers leaves a child of ours its status") {
  Child child = Child::start({.path = "/bin/sh", .arguments = {"sh", "-c", "exit 9"}}).value();
  pollfd ended = {.fd = child.pidfd(), .events = POLLIN, .revents = 0};
  REQUIRE(poll(&ended, 1, 10'000) == 1);
  reap_strangers([&](pid_t pid) { return pid == child.pid(); });
  CHECK(child.reap().value() == ExitStatus{.code = 9});
}

TEST_CASE("signal_stray sends nothing to a process that has got the pid of an ended one") {
  Child child = start_family("echo ready; exec sleep 60");
  const std::vector<Stray> strays = find_descendants();
  REQUIRE(strays.size() == 1);
  CHECK(strays.front().parent == getpid());
  // This process's pid with a wrong parent stands for a pid that another process has got.
  const Stray other = {.pid = getpid(), .parent = child.pid(), .name = "stray"};
  CHECK_FALSE(signal_stray(other, {SIGKILL}));
  CHECK(signal_stray(strays.front(), {SIGTERM, SIGCONT}));
  CHECK(child.reap().value() == ExitStatus{.signal = SIGTERM});
  CHECK_FALSE(signal_stray(strays.front(), {SIGKILL}));
}

TEST_CASE("Sweep spares the children that were there before, and their descendants") {
  become_subreaper();
  Child own = start_family("sleep 60 & echo ready; wait");
  const std::vector<pid_t> spared = existing_children();
  CHECK(spared == std::vector<pid_t>{own.pid()});
  const Child stray = start_family("echo ready; exec sleep 60");
  const auto loop = Loop::create().value();
  std::optional<Sweep::Report> report;
  const Sweep running(*loop, {.patience = seconds(5), .spared = spared}, [&](Sweep::Report done) {
    report = std::move(done);
    loop->stop();
  });
  if (!report) CHECK(loop->run().has_value());
  CHECK(report->ended == 1);
  CHECK(::kill(own.pid(), 0) == 0);
  own.signal_group(SIGKILL);
  CHECK(own.reap().has_value());
}

TEST_CASE("Sweep waits until the owner of an ended child has its status, with a spared one too") {
  become_subreaper();
  Child spared = start_family("echo ready; exec sleep 60");
  Child ours = Child::start({.path = "/bin/true", .arguments = {"true"}}).value();
  pollfd ended = {.fd = ours.pidfd(), .events = POLLIN, .revents = 0};
  REQUIRE(poll(&ended, 1, 10'000) == 1);
  const auto loop = Loop::create().value();
  bool done = false;
  const Sweep running(*loop,
                      {.patience = seconds(5),
                       .ours = [&](pid_t pid) { return pid == ours.pid(); },
                       .spared = {spared.pid()}},
                      [&](const Sweep::Report& /*report*/) {
                        done = true;
                        loop->stop();
                      });
  CHECK_FALSE(done);
  CHECK(ours.reap().has_value());
  CHECK(loop->run().has_value());
  CHECK(done);
  spared.signal_group(SIGKILL);
  CHECK(spared.reap().has_value());
}

TEST_CASE("reap_group collects the children of one group, and knows when none is left") {
  become_subreaper();
  Child ended = start_family("echo ready");
  // Its sleep has the same group, and becomes a child of this process.
  Child leader = start_family("sleep 60 & echo ready");
  const Time deadline = Clock::now() + seconds(60);
  REQUIRE(leader.reap().has_value());
  CHECK_FALSE(reap_group(leader.pid()));
  ::kill(-leader.pid(), SIGKILL);
  while (!reap_group(leader.pid()))
    REQUIRE(Clock::now() < deadline);
  // The status of another group's child is still there.
  CHECK(ended.reap().has_value());
  CHECK(reap_group(ended.pid()));
}

}  // namespace
}  // namespace dt
