#include "launcher/process/open_files.h"

#include "base/format.h"
#include "base/io/fd.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

namespace dt {
namespace {

TEST_CASE("count_open_files counts what is opened") {
  const uint64_t before = count_open_files();
  const Pipe pipe = make_pipe().value();
  CHECK(count_open_files() == before + 2);
}

TEST_CASE("check_open_files: F16 names what is needed and what is allowed") {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const uint64_t open = count_open_files();
  CHECK(check_open_files(limit.rlim_cur - open, "1 task").has_value());
  const auto checked = check_open_files(limit.rlim_cur - open + 1, "14 tasks");
  REQUIRE(!checked);
  CHECK(checked.error().code == Errc::input);
  CHECK(checked.error().message ==
        format("14 tasks need {} open files, the hard limit is {}; raise it (ulimit -Hn), or start "
               "fewer",
               limit.rlim_cur + 1, limit.rlim_cur));
}

}  // namespace
}  // namespace dt
