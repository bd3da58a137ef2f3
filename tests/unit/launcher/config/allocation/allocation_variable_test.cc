#include "launcher/config/allocation/allocation_variable.h"

#include "tests/unit/launcher/config/allocation/shown_allocation.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("an empty variable counts as one that is not set") {
  const Environment environment = {{"A", "1"}, {"B", ""}};
  CHECK(find_variable(environment, "A").value().text() == "A=1");
  CHECK_FALSE(has_variable(environment, "B"));
  CHECK_FALSE(has_variable(environment, "C"));
  CHECK(need_variable(environment, "A").value().value == "1");
  CHECK(need_variable(environment, "B").error().message ==
        "B is not set, as the scheduler sets it for its jobs");
}

TEST_CASE("errors have the variable and its value") {
  CHECK(AllocationVariable{"A", "x\n"}.number(1, 9).error().message == "A=x\\x0A: expected 1..9");
  CHECK(AllocationVariable{"A", "9"}.number(1, 9).value() == 9);
  CHECK_FALSE(AllocationVariable{"A", "10"}.number(1, 9).has_value());
  const Files files = {{"/hosts", "a\n"}, {"/empty", "\n"}};
  const auto read = [&files](const char* path) {
    return AllocationVariable{"F", path}.read_file(reader_of(files));
  };
  CHECK(read("/hosts").value() == "a\n");
  CHECK(read("/empty").error().message ==
        "F=/empty: this file is empty, but should name the job's hosts");
  CHECK(read("/none").error().message ==
        "F=/none: cannot read this file: No such file or directory");
}

}  // namespace
}  // namespace dt
