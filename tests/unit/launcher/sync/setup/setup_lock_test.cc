#include "launcher/sync/setup/setup_lock.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

namespace dt {
namespace {

using Kind = SetupLock::Kind;

TEST_CASE("one setup has the lock alone, or many jobs share it") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  SetupLock one = SetupLock::open(path).value();
  SetupLock other = SetupLock::open(path).value();
  CHECK(other.is_free());
  CHECK(one.try_take(Kind::alone) == true);
  CHECK(!other.is_free());
  CHECK(other.try_take(Kind::shared) == false);
  CHECK(other.try_take(Kind::alone) == false);
  REQUIRE(one.share().has_value());
  CHECK(!other.is_free());
  CHECK(other.try_take(Kind::alone) == false);
  CHECK(other.try_take(Kind::shared) == true);
  const Fd kept = one.release();
  SetupLock third = SetupLock::open(path).value();
  CHECK(third.try_take(Kind::alone) == false);
}

TEST_CASE("a lock ends with its process") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  Pipe pipe = make_pipe().value();
  const pid_t holder = ::fork();
  REQUIRE(holder >= 0);
  if (holder == 0) {
    SetupLock lock = SetupLock::open(path).value();
    const bool taken = lock.try_take(Kind::alone) == true;
    const char answer = taken ? 'y' : 'n';
    _exit(::write(pipe.write.get(), &answer, 1) == 1 ? ::pause() : 1);
  }
  char answer = '\0';
  REQUIRE(::read(pipe.read.get(), &answer, 1) == 1);
  CHECK(answer == 'y');
  bool waited = false;
  // The holder ends only after this process has seen that the lock is not free.
  const auto held =
      take_setup_lock(path, {.timeout = seconds(600), .on_wait = [&](const std::string&) {
                               waited = true;
                               ::kill(holder, SIGKILL);
                             }});
  CHECK(waited);
  REQUIRE(held.has_value());
  CHECK(held->kind == Kind::alone);
  CHECK(::waitpid(holder, nullptr, 0) == holder);
}

TEST_CASE("who waits learns which job set up last, and in vain after the timeout") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  SetupLock first = SetupLock::open(path).value();
  REQUIRE(first.try_take(Kind::alone) == true);
  REQUIRE(first.write_job("a-long-job-id").has_value());
  REQUIRE(first.write_job("job-7").has_value());
  std::vector<std::string> seen;
  const SetupWait wait{.or_shared = true,
                       .timeout = milliseconds(1),
                       .on_wait = [&](const std::string& job) { seen.push_back(job); }};
  const auto held = take_setup_lock(path, wait);
  REQUIRE(!held.has_value());
  CHECK(held.error().code == Errc::timeout);
  CHECK(held.error().message == "another job has used " + path + " for 1ms");
  CHECK(seen == std::vector<std::string>{"job-7"});
}

TEST_CASE("a lock that jobs share will do where that is asked for") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  SetupLock running = SetupLock::open(path).value();
  REQUIRE(running.try_take(Kind::shared) == true);
  const auto held = take_setup_lock(path, {.or_shared = true, .timeout = seconds(600)});
  REQUIRE(held.has_value());
  CHECK(held->kind == Kind::shared);
}

TEST_CASE("the lock of a file that was removed is none") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  SetupLock lock = SetupLock::open(path).value();
  std::filesystem::remove(path);
  CHECK(lock.try_take(Kind::alone) == false);
  CHECK(take_setup_lock(path, {.timeout = seconds(600)}).has_value());
  std::filesystem::remove(path);
  std::filesystem::create_symlink("elsewhere", path);
  CHECK(!take_setup_lock(path, {.timeout = seconds(600)}).has_value());
}

}  // namespace
}  // namespace dt
