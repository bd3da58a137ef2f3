#include "launcher/config/words/macros.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

const ClusterSpec cluster = {
    {{"evaluator", {{0, "d:4"}}}, {"ps", {{0, "c:3"}}}, {"worker", {{0, "a:1"}, {1, "b:2"}}}}};
const JobMacros job = {
    .world_size = 2, .master_address = "10.0.0.1", .master_port = 29500, .job_id = "kxnd"};
const MacroValues values = {
    .task = {"worker", 1}, .rank = 1, .local_rank = 0, .job = job, .cluster = cluster};

TEST_CASE("macros become the values of a task, and every other brace stays") {
  struct Case {
    const char* text;
    const char* expanded;
  };
  const Case cases[] = {
      {"--job_name={role} --task_index={index}", "--job_name=worker --task_index=1"},
      {"{cluster_spec}", "ps|c:3,worker|a:1;b:2"},
      {"{hosts:worker}/{hosts:ps}/{hosts:evaluator}", "a:1,b:2/c:3/d:4"},
      {"{rank} {local_rank} {world_size}", "1 0 2"},
      {"{host}:{port} {master_addr}:{master_port} {job_id}", "b:2 10.0.0.1:29500 kxnd"},
      {R"({"lr": 0.1, "role": {"x": [1]}})", R"({"lr": 0.1, "role": {"x": [1]}})"},
      {"{}{{}}{ role }{role", "{}{{}}{ role }{role"},
      {"{{role}}", "{worker}"},
      {"{role}{role}", "workerworker"},
      {"{ROLE} {roles} ${HOME} {a,b}", "{ROLE} {roles} ${HOME} {a,b}"},
      {"{role {index}", "{role 1"},
      {"${role} $${host}:${port} $ {role}", "${role} $${host}:${port} $ worker"},
      {"${host}{port}", "${host}2"},
      {"", ""},
      {"\xff{role}\xff", "\xffworker\xff"}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(expand_macros(c.text, values) == c.expanded);
  }
}

TEST_CASE("a port that is not known yet is shown as such") {
  JobMacros early = job;
  early.master_port = 0;
  CHECK(expand_macros("{master_port}", {.task = {"worker", 1}, .job = early, .cluster = cluster}) ==
        "<port>");
}

TEST_CASE("the value of a macro is not expanded again") {
  JobMacros tricky = job;
  tricky.job_id = "{role}";
  CHECK(expand_macros("{job_id}", {.task = {"worker", 1}, .job = tricky, .cluster = cluster}) ==
        "{role}");
}

TEST_CASE("macro_need finds macros, and those that need the cluster") {
  struct Case {
    const char* text;
    bool any;
    bool cluster;
  };
  const Case cases[] = {{"train.py", false, false},     {"{rol} {\"rank\": 1}", false, false},
                        {"{rank}", true, false},        {"--hosts={hosts:ps}", true, true},
                        {"{cluster_spec}", true, true}, {"{role} {port}", true, true}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(macro_need(c.text).any == c.any);
    CHECK(macro_need(c.text).cluster == c.cluster);
  }
}

TEST_CASE("no text becomes longer than expanded_bytes_max") {
  const std::map<std::string, int> tasks_of = {{"evaluator", 1}, {"ps", 1}, {"worker", 2}};
  const ClusterSpec longest = {
      {{"ps", {{0, "[0000:0000:0000:0000:0000:ffff:255.255.255.255]:65535"}}},
       {"worker",
        {{0, "[0000:0000:0000:0000:0000:ffff:255.255.255.254]:65535"},
         {1, "[0000:0000:0000:0000:0000:ffff:255.255.255.253]:65535"}}}}};
  constexpr uint64_t address_bytes = sizeof "[0000:0000:0000:0000:0000:ffff:255.255.255.255]:65535";
  const MacroValues of_longest = {
      .task = {"worker", 1}, .rank = 1, .local_rank = 0, .job = job, .cluster = longest};
  for (const char* text : {"", "a", "{lr}", "{role}{rank}", "{cluster_spec}", "{hosts:worker}",
                           "{hosts:ps}{cluster_spec}", "{host}{port}"}) {
    CAPTURE(text);
    CHECK(expand_macros(text, of_longest).size() <=
          expanded_bytes_max(text, tasks_of, address_bytes));
  }
  CHECK(expanded_bytes_max("plain", tasks_of, address_bytes) == 5);
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

TEST_CASE("a word that is nearly a macro causes one warning") {
  const std::vector<std::string> texts = {"{wrank}",       "{wrank}{rol}", "{inedx} {index}",
                                          R"({"ran": 1})", "{localrank}",  "{lr}"};
  CHECK(misspelt_macros(texts) == std::vector<std::string>{"{wrank} ({rank}?)", "{rol} ({role}?)",
                                                           "{inedx} ({index}?)",
                                                           "{localrank} ({local_rank}?)"});
}

}  // namespace
}  // namespace dt
