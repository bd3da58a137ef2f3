#include "launcher/process/open_files.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

namespace dt {
namespace {

rlimit files_limit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit;
}

TEST_CASE("the soft limit of descriptors rises to the hard one, and can be set back") {
  const rlimit before = files_limit();
  set_open_files_limit(64);
  CHECK(raise_open_files_limit() == 64);
  CHECK(files_limit().rlim_cur == before.rlim_max);
  set_open_files_limit(before.rlim_cur);
  CHECK(files_limit().rlim_cur == before.rlim_cur);
  CHECK(files_limit().rlim_max == before.rlim_max);
}

TEST_CASE("an agent needs four descriptors a task, its ports, and twelve for a moment") {
  CHECK(open_files_of_tasks(0, 0) == 12);
  CHECK(open_files_of_tasks(3, 5) == 29);
}

}  // namespace
}  // namespace dt
