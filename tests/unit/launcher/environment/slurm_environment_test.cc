#include "launcher/environment/slurm_environment.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

const JobFacts facts = {.slurm_job = "21"};

/// Returns the variables of all tasks of a job on these hosts.
Environment job_on(std::vector<Host> hosts, std::vector<Role> roles = {Role()}) {
  const Plan plan = make_plan({.hosts = std::move(hosts), .roles = std::move(roles)}).value();
  Environment common;
  add_slurm_job(common, facts, plan);
  return common;
}

Host host(std::string name, int slots) {
  return {.name = std::move(name), .slots = slots};
}

Role role(std::string name, int count) {
  return {.name = std::move(name), .count = count};
}

/// Returns the ranks of the hosts in Slurm's form.
std::string tasks_of(const std::vector<int>& slots) {
  std::vector<Host> hosts;
  for (const int each : slots)
    hosts.push_back(host("n" + std::to_string(hosts.size()), each));
  return job_on(std::move(hosts)).at("SLURM_STEP_TASKS_PER_NODE");
}

TEST_CASE("a job of several ranks describes its hosts as a step of Slurm does") {
  CHECK(job_on({host("n1", 4), host("n2", 4), host("n3", 4)}) ==
        Environment{{"SLURM_JOB_ID", "21"},
                    {"SLURM_NNODES", "3"},
                    {"SLURM_STEP_NODELIST", "n[1-3]"},
                    {"SLURM_STEP_NUM_NODES", "3"},
                    {"SLURM_STEP_NUM_TASKS", "12"},
                    {"SLURM_STEP_TASKS_PER_NODE", "4(x3)"},
                    {"SLURM_TASKS_PER_NODE", "4(x3)"},
                    {"SLURM_NTASKS_PER_NODE", "4"}});
}

TEST_CASE("hosts keep their order, and only equal ones have a number of tasks per node") {
  const Environment uneven = job_on({host("m7", 1), host("n2", 4), host("n1", 4)});
  CHECK(uneven.at("SLURM_STEP_NODELIST") == "m7,n[2,1]");
  CHECK(uneven.at("SLURM_TASKS_PER_NODE") == "1,4(x2)");
  CHECK(!uneven.contains("SLURM_NTASKS_PER_NODE"));
  CHECK(tasks_of({4, 4, 1}) == "4(x2),1");
  CHECK(tasks_of({1, 2, 2, 1, 1}) == "1,2(x2),1(x2)");
  CHECK(tasks_of({4, 2, 1}) == "4,2,1");
  CHECK(tasks_of({2}) == "2");
}

TEST_CASE("-np below the slots leaves out the hosts without a rank") {
  const Environment common =
      job_on({host("n1", 4), host("n2", 4), host("n3", 4)}, {role("worker", 5)});
  CHECK(common.at("SLURM_STEP_NODELIST") == "n[1-2]");
  CHECK(common.at("SLURM_TASKS_PER_NODE") == "4,1");
  CHECK(common.at("SLURM_STEP_NUM_TASKS") == "5");
  CHECK(common.at("SLURM_NNODES") == "2");
  Role evaluator = role("evaluator", 1);
  evaluator.ranked = false;
  CHECK(job_on({host("n1", 2), host("n2", 1)}, {role("worker", 2), evaluator})
            .at("SLURM_STEP_NODELIST") == "n1");
}

TEST_CASE("a job of one rank has no hosts, which its mpirun would take for slots") {
  CHECK(job_on({host("n1", 4)}, {role("worker", 1)}) == Environment{{"SLURM_JOB_ID", "21"}});
}

TEST_CASE("lists that are too long for a variable are left out") {
  std::vector<Host> hosts;
  for (int i = 0; i < 4000; ++i)
    hosts.push_back(host(std::string(1 + static_cast<size_t>(i) % 9, 'x') + std::to_string(i), 1));
  const Environment common = job_on(std::move(hosts));
  CHECK(!common.contains("SLURM_STEP_NODELIST"));
  CHECK(common.at("SLURM_STEP_TASKS_PER_NODE") == "1(x4000)");
}

TEST_CASE("a rank has its numbers, and its host's among those with ranks") {
  const Plan plan = make_plan({.hosts = {host("n1", 2), host("n2", 3)}}).value();
  JobFacts job = facts;
  job.shape = job_shape_of(plan);
  Environment rank;
  add_slurm_rank(rank, job, plan, plan.tasks[3]);
  CHECK(rank == Environment{{"SLURM_NTASKS", "5"},
                            {"SLURM_NPROCS", "5"},
                            {"SLURM_PROCID", "3"},
                            {"SLURM_LOCALID", "1"},
                            {"SLURM_NODEID", "1"}});
}

/// Returns what is left of the batch script's variables for a job of `ranks` ranks.
Environment left(EnvSets sets, int ranks, std::vector<EnvironmentSetting> settings = {}) {
  RunConfig config;
  config.env_sets = std::move(sets);
  config.environment = std::move(settings);
  Environment forwarded = {{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_NTASKS", "12"},
                           {"SLURM_NPROCS", "12"},           {"SLURM_NNODES", "3"},
                           {"SLURM_TASKS_PER_NODE", "4"},    {"SLURM_NTASKS_PER_NODE", "4"}};
  const Plan plan = make_plan({.hosts = {host("n1", 4)}, .roles = {role("worker", ranks)}}).value();
  remove_batch_tasks(forwarded, config, plan);
  return forwarded;
}

TEST_CASE("the batch script's tasks are not those of the job, unless the user forwards them") {
  CHECK(left({EnvSet::slurm_job}, 2) == Environment{{"SLURM_JOB_NODELIST", "n[1-3]"}});
  CHECK(
      left({EnvSet::slurm_job}, 2, {{"SLURM_NTASKS", "12"}, {"SLURM_NNODES", {}}}) ==
      Environment{{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_NTASKS", "12"}, {"SLURM_NNODES", "3"}});
  const Environment single = left({EnvSet::slurm_job}, 1);
  CHECK(!single.contains("SLURM_NTASKS"));
  CHECK(single.at("SLURM_TASKS_PER_NODE") == "4");
  CHECK(left({EnvSet::slurm}, 2).size() == 4);
  CHECK(left({EnvSet::torch}, 2).size() == 6);
}

}  // namespace
}  // namespace dt
