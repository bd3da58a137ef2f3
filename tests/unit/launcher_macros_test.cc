#include "launcher/macros.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

const ClusterSpec cluster = {{{"ps", {{0, "c:3"}}}, {"worker", {{0, "a:1"}, {1, "b:2"}}}}};
const MacroValues values = {.task = {"worker", 1},
                            .rank = 1,
                            .local_rank = 0,
                            .world_size = 2,
                            .host = "b",
                            .port = 2,
                            .master_address = "10.0.0.1",
                            .master_port = 29500,
                            .job_id = "kxnd"};

TEST_CASE("macros stand for what a task is told, and every other brace stays") {
  struct Case {
    const char* text;
    const char* expanded;
  };
  const Case cases[] = {
      {"--job_name={role} --task_index={index}", "--job_name=worker --task_index=1"},
      {"{cluster_spec}", "ps|c:3,worker|a:1;b:2"},
      {"{hosts:worker}/{hosts:ps}", "a:1,b:2/c:3"},
      {"{rank} {local_rank} {world_size}", "1 0 2"},
      {"{host}:{port} {master_addr}:{master_port} {job_id}", "b:2 10.0.0.1:29500 kxnd"},
      {R"({"lr": 0.1, "role": {"x": [1]}})", R"({"lr": 0.1, "role": {"x": [1]}})"},
      {"{}{{}}{ role }{role", "{}{{}}{ role }{role"},
      {"{{role}}", "{worker}"},
      {"{role}{role}", "workerworker"},
      {"{ROLE} {roles} ${HOME} {a,b}", "{ROLE} {roles} ${HOME} {a,b}"},
      {"{role {index}", "{role 1"},
      {"", ""},
      {"\xff{role}\xff", "\xffworker\xff"}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(expand_macros(c.text, values, cluster) == c.expanded);
  }
}

TEST_CASE("what a macro becomes is not looked at again") {
  MacroValues tricky = values;
  tricky.host = "{role}";
  CHECK(expand_macros("{host}", tricky, cluster) == "{role}");
}

TEST_CASE("macros that mean nothing for a role are refused") {
  const std::set<std::string> roles = {"ps", "worker"};
  CHECK(check_macros("{hosts:ps} {rank} {role}", "worker", true, roles));
  CHECK(check_macros("{hosts:ps} {index}", "ps", false, roles));
  CHECK(check_macros("{hosts:chief}", "worker", true, roles).error().message ==
        "{hosts:chief}: the job has no role chief; it has ps, worker");
  CHECK(check_macros("--rank={rank}", "ps", false, roles).error().message ==
        "{rank}: tasks of role ps have no rank; {index} they have");
  CHECK(check_macros("{local_rank}", "ps", false, roles).error().code == Errc::input);
}

TEST_CASE("a word that is nearly a macro is told once") {
  const std::vector<std::string> texts = {"{wrank}",       "{wrank}{rol}", "{inedx} {index}",
                                          R"({"ran": 1})", "{localrank}",  "{lr}"};
  CHECK(misspelt_macros(texts) ==
        std::vector<std::string>{"{wrank} is not a macro; {rank} is",
                                 "{rol} is not a macro; {role} is",
                                 "{localrank} is not a macro; {local_rank} is"});
}

}  // namespace
}  // namespace dt
