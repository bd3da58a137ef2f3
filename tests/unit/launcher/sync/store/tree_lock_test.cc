#include "launcher/sync/store/tree_lock.h"

#include "base/io/fd.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace dt {
namespace {

TEST_CASE("take: the second is refused by the name of the first, until that ends") {
  const TemporaryFolder folder;
  TreeLock first = TreeLock::take({.folder = folder.path(), .job = "j1", .what = "/code"}).value();
  const Error error =
      TreeLock::take({.folder = folder.path(), .job = "j2", .what = "/code"}).error();
  CHECK(error.code == Errc::refused);
  CHECK(error.message.starts_with("/code is in use by job j1 on "));
  CHECK_FALSE(TreeLock::take_if_free(folder.path()));
  first.release();
  CHECK_FALSE(first);
  CHECK(TreeLock::take_if_free(folder.path()));
  CHECK(TreeLock::take({.folder = folder.path(), .job = "j2", .what = "/code"}));
  CHECK(folder.read("lock").starts_with("job j2 on "));
}

TEST_CASE("take_if_free: none where no job has been") {
  const TemporaryFolder folder;
  CHECK_FALSE(TreeLock::take_if_free(folder.path()));
  CHECK_FALSE(TreeLock::take_if_free(folder.path() + "/none"));
  CHECK(TreeLock::take({.folder = folder.path() + "/none", .job = "j", .what = "x"}).error().code ==
        Errc::os);
}

TEST_CASE("a lock ends with a process that is killed") {
  const TemporaryFolder folder;
  Pipe ready = make_pipe().value();
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<TreeLock> lock =
        TreeLock::take({.folder = folder.path(), .job = "j1", .what = "/code"});
    static_cast<void>(write_all(ready.write.get(), std::array{std::byte{1}}));
    ::pause();
    ::_exit(0);
  }
  std::array<std::byte, 1> sign;
  REQUIRE(::read(ready.read.get(), sign.data(), 1) == 1);
  CHECK_FALSE(TreeLock::take_if_free(folder.path()));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(TreeLock::take_if_free(folder.path()));
}

}  // namespace
}  // namespace dt
