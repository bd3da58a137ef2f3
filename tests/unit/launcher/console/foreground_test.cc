#include "launcher/console/foreground.h"

#include "base/io/fd.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

namespace dt {
namespace {

/// Returns what `holds` returns in a child of this process.
bool in_child(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(holds() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

/// A terminal that no process has as its own. A process that begins a session gets it by open().
class Terminal {
 public:
  Terminal() {
    REQUIRE(::grantpt(user_.get()) == 0);
    REQUIRE(::unlockpt(user_.get()) == 0);
    REQUIRE(::ptsname_r(user_.get(), name_.data(), name_.size()) == 0);
  }
  Fd open() const { return Fd(::open(name_.data(), O_RDWR | O_CLOEXEC)); }
  Fd open_for_session() const {
    ::setsid();
    return open();
  }

 private:
  Fd user_{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  std::array<char, 64> name_ = {};
};

bool in_background_of_own_group(int terminal) {
  return in_child([&] { return ::setpgid(0, 0) == 0 && in_background(terminal); });
}

TEST_CASE("only the foreground group of a terminal is not in its background") {
  const Terminal terminal;
  CHECK(in_child([&] {
    const Fd own = terminal.open_for_session();
    return !in_background(own.get()) && in_child([&] { return !in_background(own.get()); }) &&
           in_background_of_own_group(own.get());
  }));
}

TEST_CASE("no process is in the background of what is not its terminal") {
  const Terminal terminal;
  CHECK(in_child([&] {
    const Fd own = terminal.open_for_session();
    return in_child([&] {
      ::setsid();
      return !in_background(own.get());
    });
  }));
  const Pipe pipe = make_pipe().value();
  CHECK_FALSE(in_background(pipe.read.get()));
}

TEST_CASE("a group of a container shares the foreground of its caller, and another does not") {
  if (!in_child([] { return ::unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0; })) {
    MESSAGE("skipped: this user may not make namespaces");
    return;
  }
  const Terminal terminal;
  CHECK(in_child([&] {
    const Fd own = terminal.open_for_session();
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return false;
    return in_child([&] {
      return ::getpid() == 1 && in_child([&] { return !in_background(own.get()); }) &&
             in_background_of_own_group(own.get());
    });
  }));
}

}  // namespace
}  // namespace dt
