#include "base/io/open_files.h"

#include "base/format.h"
#include "base/io/fd.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

namespace dt {
namespace {

/// Restores the limit of descriptors at its end.
class KeptLimit {
 public:
  KeptLimit() { getrlimit(RLIMIT_NOFILE, &before_); }
  KeptLimit(const KeptLimit&) = delete;
  KeptLimit& operator=(const KeptLimit&) = delete;
  ~KeptLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

  rlim_t hard() const { return before_.rlim_max; }
  void set_soft(rlim_t soft) const {
    const rlimit limit = {.rlim_cur = soft, .rlim_max = before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  static rlim_t soft() {
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  }

 private:
  rlimit before_ = {};
};

TEST_CASE("count_open_files counts what is opened") {
  const uint64_t before = count_open_files();
  const Pipe pipe = make_pipe().value();
  CHECK(count_open_files() == before + 2);
}

TEST_CASE("a soft limit that suffices stays, and a lower one rises as far as necessary") {
  const KeptLimit limit;
  const uint64_t open = count_open_files();
  limit.set_soft(open + 5);
  CHECK(ensure_open_files(5, "5 pipes").has_value());
  CHECK(KeptLimit::soft() == open + 5);
  CHECK(ensure_open_files(6, "6 pipes").has_value());
  CHECK(KeptLimit::soft() == open + 6);
}

TEST_CASE("ensure_open_files: F16 names what is needed and what is allowed") {
  const KeptLimit limit;
  const uint64_t open = count_open_files();
  CHECK(ensure_open_files(limit.hard() - open, "1 task").has_value());
  const auto checked = ensure_open_files(limit.hard() - open + 1, "14 tasks");
  REQUIRE(!checked);
  CHECK(checked.error().code == Errc::input);
  CHECK(checked.error().message ==
        format("14 tasks need {} open files, the hard limit is {}; raise it (ulimit -Hn), or start "
               "fewer",
               limit.hard() + 1, limit.hard()));
}

}  // namespace
}  // namespace dt
