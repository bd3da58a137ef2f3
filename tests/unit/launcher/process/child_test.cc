#include "launcher/process/child.h"

#include "base/bytes.h"
#include "base/text.h"
#include "launcher/process/sweep.h"
#include "launcher/process/topology.h"
#include "tests/unit/affinity.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace dt {
namespace {

/// Waits for the end of the process.
void await_end(const Child& child) {
  pollfd ended = {.fd = child.pidfd(), .events = POLLIN, .revents = 0};
  CHECK(poll(&ended, 1, 10'000) == 1);
}

struct Ended {
  ExitStatus status;
  ResourceUse used;
  std::string output;
};

Ended run_shell(const std::string& script, ChildRequest request = {}) {
  Pipe pipe = make_pipe().value();
  request.path = "/bin/sh";
  request.arguments = {"sh", "-c", script};
  request.output = pipe.write.get();
  Child child = Child::start(request).value();
  pipe.write.reset();
  Ended ended;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(pipe.read.get(), buffer, sizeof buffer)) > 0;) {
    ended.output.append(buffer, static_cast<size_t>(n));
  }
  await_end(child);
  REQUIRE(child.executed().has_value());
  CHECK(child.executed()->has_value());
  ended.status = child.reap().value();
  ended.used = child.used();
  return ended;
}

TEST_CASE("Child reports code and signal of its end") {
  CHECK(run_shell("exit 3").status == ExitStatus{.code = 3});
  CHECK(run_shell("kill -SEGV $$").status == ExitStatus{.signal = SIGSEGV});
}

TEST_CASE("Child may use the CPUs that it is given, by default those of its parent") {
  const std::string ask = "grep Cpus_allowed_list /proc/self/status | cut -f 2";
  const std::vector<int> ours = own_affinity();
  CHECK(run_shell(ask).output == ranges_text(ours) + "\n");
  ChildRequest request;
  request.cpus = {ours.back()};
  CHECK(run_shell(ask, request).output == ranges_text(request.cpus) + "\n");
  CHECK(own_affinity() == ours);
}

TEST_CASE("Child: CPUs that are not there are named") {
  Child child = Child::start({.path = "/bin/true", .arguments = {"true"}, .cpus = {8191}}).value();
  await_end(child);
  const auto executed = child.executed();
  REQUIRE(executed.has_value());
  REQUIRE_FALSE(executed->has_value());
  CHECK(executed->error().message == "cannot bind to cpus 8191: Invalid argument");
  CHECK(child.reap().has_value());
}

TEST_CASE("Child reports the resources that it used, with the children that it waited for") {
  // tail keeps its whole input in memory.
  const ResourceUse used = run_shell("head -c 50M /dev/zero | tail -c 40M | wc -c").used;
  CHECK(used.max_rss_bytes > (int64_t{40} << 20));
  CHECK(used.max_rss_bytes < (int64_t{4} << 30));
  CHECK(used.user + used.system > Duration::zero());
  CHECK(used.voluntary_switches > 0);
}

TEST_CASE("Child gets exactly the environment, arguments and folder that were asked for") {
  ChildRequest request;
  request.environment = {"A=1 2", "PATH=/usr/bin:/bin"};
  request.cwd = "/usr";
  CHECK(run_shell("echo \"$A|$HOME|$(pwd)\"", request).output == "1 2||/usr\n");
}

TEST_CASE("Child leads a process group of its own, in our session unless asked") {
  ChildRequest request;
  request.environment = {"PATH=/usr/bin:/bin"};
  // Fields of /proc/PID/stat after the name: state ppid pgrp session.
  const std::string script = "echo $$ $(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f3,4)";
  const std::string shown = run_shell(script, request).output;
  const std::vector<std::string_view> own = split_words(trim(shown));
  REQUIRE(own.size() == 3);
  CHECK(own[0] == own[1]);
  CHECK(own[2] == std::to_string(getsid(0)));
  request.new_session = true;
  const std::string shown_alone = run_shell(script, request).output;
  const std::vector<std::string_view> alone = split_words(trim(shown_alone));
  REQUIRE(alone.size() == 3);
  CHECK(alone[0] == alone[2]);
}

TEST_CASE("Child inherits no descriptor but the three, not even one that is not close-on-exec") {
  const Fd leaked(open("/dev/null", O_RDONLY));  // deliberately without O_CLOEXEC
  // exec replaces the shell, whose own descriptors would be listed; 3 is the folder that ls reads.
  const std::string shown =
      run_shell("exec ls /proc/self/fd", {.environment = {"PATH=/usr/bin:/bin"}}).output;
  CHECK(shown == "0\n1\n2\n3\n");
}

TEST_CASE("Child starts with no signal blocked, and its stdin is empty by default") {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const ChildRequest request = {.environment = {"PATH=/usr/bin:/bin"}};
  const Ended ended = run_shell("cat; exec grep SigBlk /proc/self/status", request);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(ended.output == "SigBlk:\t0000000000000000\n");
}

TEST_CASE("Child: a program that cannot run is reported at the child's end, with the reason") {
  struct Case {
    const char* path;
    const char* cwd;
    Errc code;
    const char* message;
  };
  const Case cases[] = {
      {"/no/such/file", "", Errc::not_found, "cannot run /no/such/file: No such file or directory"},
      {"/etc/passwd", "", Errc::not_runnable, "cannot run /etc/passwd: Permission denied"},
      {"/usr", "", Errc::not_runnable, "cannot run /usr: Permission denied"},
      {"/bin/true", "/no/folder", Errc::os, "cannot enter /no/folder: No such file or directory"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.path);
    Child child = Child::start({.path = c.path, .arguments = {"x"}, .cwd = c.cwd}).value();
    await_end(child);
    const auto executed = child.executed();
    REQUIRE(executed.has_value());
    REQUIRE_FALSE(executed->has_value());
    CHECK(executed->error().code == c.code);
    CHECK(executed->error().message == c.message);
    CHECK(child.reap().has_value());
  }
}

TEST_CASE("Child: a pipe of ours ends for its reader when all children run their programs") {
  Pipe hold = make_pipe().value();  // the children wait for its end
  Pipe ours = make_pipe().value();
  std::vector<Child> children;
  for (int i = 0; i < 20; ++i) {
    const ChildRequest wanted = {
        .path = "/bin/cat", .arguments = {"cat"}, .input = hold.read.get()};
    children.push_back(Child::start(wanted).value());
  }
  ours.write.reset();
  pollfd ended = {.fd = ours.read.get(), .events = POLLIN, .revents = 0};
  CHECK(poll(&ended, 1, 10'000) == 1);
  CHECK((ended.revents & POLLHUP) != 0);
  for (const Child& child : children) {
    REQUIRE(child.executed().has_value());
    CHECK(child.executed()->has_value());
  }
  hold.write.reset();
  for (Child& child : children) {
    await_end(child);
    CHECK(child.reap().value() == ExitStatus());
  }
}

TEST_CASE("Child: its group can be signalled as soon as it is there") {
  for (int i = 0; i < 50; ++i) {
    Child child = Child::start({.path = "/bin/sleep", .arguments = {"sleep", "1000"}}).value();
    child.signal_group(SIGTERM);
    await_end(child);
    CHECK(child.reap().value() == ExitStatus{.signal = SIGTERM});
  }
}

TEST_CASE("Child: a collected child is not signalled any more") {
  become_subreaper();
  Child child = Child::start({.path = "/bin/sh",
                              .arguments = {"sh", "-c", "sleep 1000 & exit 0"},
                              .environment = {"PATH=/usr/bin:/bin"}})
                    .value();
  const pid_t group = child.pid();
  await_end(child);
  CHECK(child.reap().value() == ExitStatus());
  // The background sleep keeps the group's number in use, like a later process that got the number.
  child.signal_group(SIGKILL);
  CHECK(::kill(-group, SIGTERM) == 0);
  int status = 0;
  CHECK(waitpid(-group, &status, 0) > 0);
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("Child that is killed is collected at once") {
  Child child = Child::start({.path = "/bin/sleep", .arguments = {"sleep", "1000"}}).value();
  CHECK(child.kill(seconds(60)).value() == ExitStatus{.signal = SIGKILL});
  CHECK_FALSE(child.kill(seconds(60)));
}

TEST_CASE("Child runs a script without #! with sh, as a shell would") {
  char path[] = "/tmp/dtrain-script-XXXXXX";
  Fd file(mkstemp(path));
  REQUIRE(write_all(file.get(), as_bytes("echo plain $1; exit 4\n")).has_value());
  fchmod(file.get(), 0700);
  file.reset();
  Pipe pipe = make_pipe().value();
  Child child =
      Child::start({.path = path, .arguments = {path, "arg"}, .output = pipe.write.get()}).value();
  pipe.write.reset();
  char buffer[64];
  const ssize_t n = ::read(pipe.read.get(), buffer, sizeof buffer);
  CHECK(std::string(buffer, static_cast<size_t>(n)) == "plain arg\n");
  CHECK(child.reap().value() == ExitStatus{.code = 4});
  unlink(path);
}

}  // namespace
}  // namespace dt
