#include "launcher/agent/executable_cache.h"

#include "base/format.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>

namespace dt {
namespace {

constexpr std::time_t day = 24 * 60 * 60;
constexpr std::time_t now = 1000 * day;

const std::string own(64, 'a');
const std::string other(64, 'b');

/// A folder of copies with the days since the last use of each.
struct Copies {
  TemporaryFolder folder;

  std::string path(const std::string& name) const { return folder.path() + "/" + name; }
  void set_age(const std::string& name, std::time_t days) const {
    const timespec time = {.tv_sec = now - days * day - 1, .tv_nsec = 0};
    const timespec times[2] = {time, time};
    REQUIRE(utimensat(AT_FDCWD, path(name).c_str(), times, 0) == 0);
  }
  void add(const std::string& sha256, std::time_t days) const {
    folder.write(sha256 + "/dtrain", "x", 0700);
    set_age(sha256 + "/dtrain", days);
    set_age(sha256, days);
  }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }
  void prune(std::time_t at = now, const std::string& digest = own) const {
    prune_executable_cache(path(own) + "/dtrain", at, [&digest] { return digest; });
  }
  std::time_t marked(const std::string& name) const {
    struct stat about = {};
    REQUIRE(stat(path(name).c_str(), &about) == 0);
    return about.st_mtim.tv_sec;
  }
};

TEST_CASE_FIXTURE(Copies, "the use of a copy is marked once a day") {
  add(own, 0);
  prune();
  CHECK(marked(own + "/dtrain") == now - 1);
  set_age(own + "/dtrain", 1);
  prune();
  CHECK(marked(own + "/dtrain") == now);
}

TEST_CASE_FIXTURE(Copies,
                  "a copy that was not used for 30 days is retired, and removed a day later") {
  add(own, 40);
  add(other, 30);
  prune();
  CHECK(has(own));
  CHECK_FALSE(has(other));
  CHECK(has(other + ".old/dtrain"));
  prune(now + day);
  CHECK(has(other + ".old"));
  prune(now + day + 1);
  CHECK_FALSE(has(other + ".old"));
}

TEST_CASE_FIXTURE(Copies, "a copy that was used in the last 30 days stays") {
  add(own, 0);
  add(other, 29);
  prune();
  CHECK(has(other + "/dtrain"));
}

TEST_CASE_FIXTURE(Copies, "a copy that was started while it was retired stays") {
  add(own, 0);
  add(other, 31);
  prune();
  set_age(other + ".old/dtrain", 0);
  prune(now + 5 * day);
  CHECK(has(other + ".old/dtrain"));
  prune(now + 32 * day);
  CHECK_FALSE(has(other + ".old"));
}

TEST_CASE_FIXTURE(Copies, "a copy that is being sent stays") {
  add(own, 0);
  folder.write(other + "/new.host.1", "half");
  set_age(other, 2);
  prune();
  CHECK(has(other + "/new.host.1"));
}

TEST_CASE_FIXTURE(Copies, "the file of an interrupted transfer is removed after a day") {
  add(own, 0);
  for (const char* name : {"/new.host.1", "/new.host.2"})
    folder.write(own + name, "half");
  set_age(own + "/new.host.1", 1);
  set_age(own + "/new.host.2", 0);
  prune();
  CHECK_FALSE(has(own + "/new.host.1"));
  CHECK(has(own + "/new.host.2"));
}

TEST_CASE_FIXTURE(Copies, "a copy whose digest is not its name is retired") {
  add(own, 1);
  prune(now, other);
  CHECK_FALSE(has(own));
  CHECK(has(own + ".old/dtrain"));
}

TEST_CASE_FIXTURE(Copies, "other files of the folder and other folders are not touched") {
  add(own, 0);
  for (const char* name : {"notes", "short0123", "ZZ.txt"}) {
    folder.write(name, "x");
    set_age(name, 99);
  }
  prune();
  for (const char* name : {"notes", "short0123", "ZZ.txt"})
    CHECK(has(name));
  add(other, 99);
  for (const std::string& executable :
       {path("bin/dtrain"), path(own) + "/other", std::string("/memfd:dtrain (deleted)")}) {
    prune_executable_cache(executable, now, [] { return own; });
    CHECK(has(other));
  }
}

}  // namespace
}  // namespace dt
