#include "launcher/job/mpi_notice.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

std::string first_line(const std::optional<std::string>& warning) {
  return warning ? warning->substr(0, warning->find('\n')) : "none";
}

TEST_CASE("one warning counts all lone MPI processes, after the last agent reported") {
  MpiNotice notice(3);
  CHECK_FALSE(notice.reported(1, 4));
  CHECK_FALSE(notice.reported(0, 0));
  CHECK(first_line(notice.reported(2, 2)) ==
        "6 processes, each alone: MPI was not started by mpirun");
  CHECK_FALSE(notice.reported(2, 2));
  CHECK_FALSE(notice.agent_ended(1));
}

TEST_CASE("an agent that ended without a report is not waited for") {
  MpiNotice notice(2);
  CHECK_FALSE(notice.reported(0, 2));
  const auto warning = notice.agent_ended(1);
  REQUIRE(warning);
  CHECK(*warning ==
        "2 processes, each alone: MPI was not started by mpirun\n"
        "  dtrain does not start MPI programs itself; within a job, mpirun does:\n"
        "  dtrain run -np 1 -- mpirun -n 2 COMMAND\n"
        "  (of no concern where MPI is loaded but not used)");
}

TEST_CASE("a single MPI process is correct and gives no warning") {
  MpiNotice notice(2);
  CHECK_FALSE(notice.reported(0, 1));
  CHECK_FALSE(notice.reported(1, 0));
  MpiNotice none(1);
  CHECK_FALSE(none.reported(0, 0));
}

}  // namespace
}  // namespace dt
