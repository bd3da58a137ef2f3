#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("words choose the tasks whose success ends the job, and the end of the others") {
  struct Row {
    OptionValues values;
    SuccessOptions expected;
  };
  const Row rows[] = {{{}, {.by = SuccessBy::automatic, .clean = CleanUp::running}},
                      {{{"success", {"auto"}}}, {.by = SuccessBy::automatic}},
                      {{{"success", {"chief"}}}, {.by = SuccessBy::chief}},
                      {{{"success", {"worker-0"}}}, {.by = SuccessBy::worker_0}},
                      {{{"success", {"all-workers"}}}, {.by = SuccessBy::all_workers}},
                      {{{"success", {"all"}}}, {.by = SuccessBy::all}},
                      {{{"success", {"role:client"}}}, {.by = SuccessBy::role, .role = "client"}},
                      {{{"clean", {"running"}}}, {.clean = CleanUp::running}},
                      {{{"clean", {"all"}}}, {.clean = CleanUp::all}},
                      {{{"clean", {"none"}}}, {.clean = CleanUp::none}}};
  for (const Row& row : rows) {
    SuccessOptions success;
    REQUIRE(read_success({flags(row.values)}, success).has_value());
    CHECK(success == row.expected);
  }
}

TEST_CASE("words that name no rule are refused") {
  const Refusal cases[] = {
      {{{"np", {"1"}}, {"success", {"workers"}}},
       "--success: expected auto, chief, worker-0, all-workers, all, never or role:NAME, got "
       "\"workers\""},
      {{{"np", {"1"}}, {"success", {"role:"}}},
       "--success: expected a role after role:, got \"role:\""},
      {{{"np", {"1"}}, {"clean", {"some"}}},
       "--clean: expected running, all or none, got \"some\""},
  };
  expect_refused(cases);
}

}  // namespace
}  // namespace dt
