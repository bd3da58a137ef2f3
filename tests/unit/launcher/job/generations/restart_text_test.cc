#include "launcher/job/generations/restart_text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// Each host has one task.
NextPlan plan_on(const std::vector<std::string>& names, int world_size) {
  NextPlan next;
  for (const std::string& name : names)
    next.plan.hosts.push_back({.host = {.name = name}, .tasks = {0}});
  next.plan.world_size = world_size;
  return next;
}

TEST_CASE("restart_text: the task, its host and end, and what starts again") {
  const Failure failure = {
      .task = {"worker", 3}, .rank = 3, .host = "n2", .pid = 7, .cause = "killed by SIGKILL"};
  CHECK(restart_text({.number = 1, .of = 5}, {.exit_status = 137, .failure = failure},
                     plan_on({"n1", "n2", "n3", "b"}, 16)) ==
        "restart 1 of 5 after rank 3 on n2: killed by SIGKILL; 16 ranks on n[1-3],b");
}

TEST_CASE("restart_text: a delay, and a task without a rank") {
  const Failure failure = {.task = {"ps", 0}, .host = "a", .cause = "exit status 3"};
  CHECK(restart_text({.number = 3, .of = 4, .delay = seconds(2)},
                     {.exit_status = 3, .failure = failure}, plan_on({"a"}, 1)) ==
        "restart 3 of 4 in 2s after ps:0 on a: exit status 3; 1 rank on a");
}

TEST_CASE("restart_text: a lost host, and the spare in its place") {
  NextPlan next = plan_on({"n1", "e", "n3"}, 3);
  next.plan.hosts.push_back({.host = {.name = "f"}});  // another spare
  next.taken = {"e"};
  CHECK(restart_text({.number = 1, .of = 5},
                     {.exit_status = 3, .reason = "agent on n2 lost: no heartbeat for 5s"}, next) ==
        "restart 1 of 5: agent on n2 lost: no heartbeat for 5s; 3 ranks on n[1,3], e (spare)");
}

TEST_CASE("restart_text: without a limit there is no number of restarts that are left") {
  const Failure failure = {.task = {"worker", 0}, .rank = 0, .host = "a", .cause = "exit status 3"};
  CHECK(restart_text({.number = 3, .of = unlimited_restarts, .delay = seconds(2)},
                     {.exit_status = 3, .failure = failure}, plan_on({"a"}, 2)) ==
        "restart 3 in 2s after rank 0 on a: exit status 3; 2 ranks on a");
  CHECK(short_lives_text() ==
        "3 starts in a row have failed within 1m: the job ends as the first of them; "
        "--max-restarts N allows N restarts");
}

}  // namespace
}  // namespace dt
