#include "launcher/environment/environment.h"

#include "launcher/environment/env_sets.h"
#include "rendezvous/cluster/tf_config.h"

#include <doctest/doctest.h>

#include <set>

namespace dt {
namespace {

TEST_CASE("overridden_settings: values of the user that dtrain's own replace") {
  const Environment added = {{"RANK", "0"}, {"MASTER_PORT", "4711"}, {"no_proxy", "a"}};
  CHECK(overridden_settings(
            {{"RANK", "7"}, {"RANK", "8"}, {"A", "1"}, {"MASTER_PORT", "4711"}, {"no_proxy", "b"}},
            added) == std::vector<std::string>{"RANK"});
}

const Environment launcher = {
    {"PATH", "/usr/bin"}, {"LANG", "C"}, {"HOME", "/home/me"}, {"WANDB_MODE", "offline"}};

Environment forwarded(const Environment& environment,
                      const std::vector<EnvironmentSetting>& settings = {}) {
  return forwarded_environment(environment, settings);
}

/// Two hosts, two tasks on the first and one on the second.
Plan three_tasks() {
  return make_plan({.hosts = {{.name = "a", .slots = 2}, {.name = "::1", .slots = 1}}}).value();
}

Environment added(JobFacts job, const Plan& plan, const Task& task) {
  job.shape = job_shape_of(plan);
  const std::string cluster = job.env_sets.contains(EnvSet::tf) ? tf_cluster(job.cluster) : "";
  return added_environment(common_environment(job, plan), task_environment(job, plan, task),
                           cluster, task.id);
}

JobFacts facts(EnvSets sets = default_env_sets()) {
  return {.job = "job-1",
          .generation = 7,
          .restarts_max = 9,
          .token = std::string(64, 'f'),
          .rendezvous = "[fe80::5]:4000",
          .master_address = "10.0.0.1",
          .master_port = 5000,
          .jax_port = 6000,
          .horovod = true,
          .cluster = {.jobs = {{"worker", {{0, "10.0.0.1:1"}, {1, "10.0.0.1:2"}, {2, "[::1]:3"}}}}},
          .env_sets = std::move(sets),
          .shape = {}};
}

std::string value(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "(unset)" : found->second;
}

TEST_CASE("the launcher's environment is forwarded, but not the host's or an outer job's part") {
  CHECK(forwarded(launcher) ==
        Environment{{"PATH", "/usr/bin"}, {"LANG", "C"}, {"WANDB_MODE", "offline"}});
  for (const char* name : {"HOME",
                           "USER",
                           "LOGNAME",
                           "SHELL",
                           "TMPDIR",
                           "XDG_RUNTIME_DIR",
                           "HOSTNAME",
                           "SSH_AUTH_SOCK",
                           "SSH_CONNECTION",
                           "CUDA_VISIBLE_DEVICES",
                           "NVIDIA_VISIBLE_DEVICES",
                           "KUBERNETES_SERVICE_HOST",
                           "BASH_FUNC_module%%",
                           "DTRAIN_RANK",
                           "DTRAIN_TOKEN",
                           "DTRAIN_OPT_NP",
                           "PMI_RANK",
                           "PMIX_RANK",
                           "OMPI_COMM_WORLD_RANK",
                           "PRTE_MCA_x",
                           "OLDPWD",
                           "PORT",
                           "SLURM_PROCID",
                           "SLURM_STEP_NODELIST",
                           "TORCHELASTIC_USE_AGENT_STORE",
                           "RANK",
                           "HOROVOD_RANK",
                           "HOROVOD_ELASTIC",
                           "TF_CONFIG"}) {
    CAPTURE(name);
    CHECK(forwarded({{name, "x"}}).empty());
  }
  for (const char* name : {"SLURM_JOB_ID", "SLURM_NTASKS", "HOMEBREW_PREFIX", "PORTS", "NCCL_DEBUG",
                           "HOROVOD_FUSION_THRESHOLD", "http_proxy", "DTRAINING", "PWD"}) {
    CAPTURE(name);
    CHECK(forwarded({{name, "x"}}) == Environment{{name, "x"}});
  }
}

TEST_CASE("a task gets its held port only if it may listen at no other") {
  const Plan plan = three_tasks();
  JobFacts job = facts();
  CHECK(value(added(job, plan, plan.tasks[1]), "DTRAIN_PORT") == "(unset)");
  job.own_ports = true;
  CHECK(value(added(job, plan, plan.tasks[1]), "DTRAIN_PORT") == "2");
  CHECK(value(added(job, plan, plan.tasks[2]), "DTRAIN_PORT") == "3");
  CHECK(value(added(job, plan, plan.tasks[2]), "DTRAIN_STRATEGY") == "(unset)");
  job.strategy = {{"DTRAIN_STRATEGY", "mirrored"}};
  CHECK(value(added(job, plan, plan.tasks[2]), "DTRAIN_STRATEGY") == "mirrored");
}

TEST_CASE("with --gpu-share NCCL takes each rank for a host of its own") {
  const Plan plan = three_tasks();
  JobFacts job = facts();
  CHECK(value(added(job, plan, plan.tasks[1]), "NCCL_HOSTID") == "(unset)");
  CHECK(value(added(job, plan, plan.tasks[1]), "DTRAIN_GPU_SHARE") == "(unset)");
  job.gpu_share = true;
  const std::string id = "dtrain-" + job.job + "-";
  for (const size_t i : {0, 1}) {
    const Environment variables = added(job, plan, plan.tasks[i]);
    CHECK(value(variables, "NCCL_HOSTID") == id + std::to_string(plan.tasks[i].rank));
    CHECK(value(variables, "NCCL_P2P_DISABLE") == "1");
    CHECK(value(variables, "DTRAIN_GPU_SHARE") == "1");
    CHECK(value(variables, "CUDA_DEVICE_MAX_CONNECTIONS") == "32");
    CHECK(value(variables, "NCCL_SOCKET_IFNAME") == (plan.hosts.size() == 1 ? "=lo" : "(unset)"));
  }
}

TEST_CASE("every task learns of --dump-stacks") {
  const Plan plan = three_tasks();
  JobFacts job = facts();
  CHECK(value(added(job, plan, plan.tasks[1]), "DTRAIN_DUMP_STACKS") == "(unset)");
  job.dump_stacks = true;
  CHECK(value(added(job, plan, plan.tasks[1]), "DTRAIN_DUMP_STACKS") == "1");
}

TEST_CASE("-x sets a variable, or forwards one that is not forwarded by default") {
  const Environment environment = {{"PORT", "80"}, {"LANG", "C"}, {"DTRAIN_RANK", "3"}};
  CHECK(forwarded(environment, {{"LANG", "de"}, {"NEW", ""}}) ==
        Environment{{"LANG", "de"}, {"NEW", ""}});
  CHECK(forwarded(environment, {{"PORT", {}}, {"LANG", {}}}) ==
        Environment{{"LANG", "C"}, {"PORT", "80"}});
  CHECK(forwarded(environment, {{"A", "1"}, {"A", "2"}}).at("A") == "2");
}

TEST_CASE("a task finds its rank and the job's addresses under every framework's names") {
  const Plan plan = three_tasks();
  const Environment environment = added(facts(), plan, plan.tasks[2]);
  const std::string cluster = R"({"cluster":{"worker":["10.0.0.1:1","10.0.0.1:2","[::1]:3"]},)"
                              R"("task":{"type":"worker","index":2}})";
  CHECK(environment == Environment{{"DTRAIN_RANK", "2"},
                                   {"DTRAIN_SIZE", "3"},
                                   {"DTRAIN_LOCAL_RANK", "0"},
                                   {"DTRAIN_LOCAL_SIZE", "1"},
                                   {"DTRAIN_CROSS_RANK", "1"},
                                   {"DTRAIN_CROSS_SIZE", "2"},
                                   {"DTRAIN_HOSTNAME", "::1"},
                                   {"DTRAIN_ROLE", "worker"},
                                   {"DTRAIN_TASK_INDEX", "2"},
                                   {"DTRAIN_JOB_ID", "job-1"},
                                   {"DTRAIN_RENDEZVOUS", "[fe80::5]:4000"},
                                   {"DTRAIN_TOKEN", std::string(64, 'f')},
                                   {"DTRAIN_GENERATION", "7"},
                                   {"DTRAIN_ATTEMPT", "1"},
                                   {"DTRAIN_NODE_RANK", "1"},
                                   {"DTRAIN_NNODES", "2"},
                                   {"RANK", "2"},
                                   {"WORLD_SIZE", "3"},
                                   {"LOCAL_RANK", "0"},
                                   {"LOCAL_WORLD_SIZE", "1"},
                                   {"GROUP_RANK", "1"},
                                   {"GROUP_WORLD_SIZE", "2"},
                                   {"NODE_RANK", "1"},
                                   {"ROLE_NAME", "worker"},
                                   {"ROLE_RANK", "2"},
                                   {"ROLE_WORLD_SIZE", "3"},
                                   {"TORCHELASTIC_RUN_ID", "job-1"},
                                   {"TORCHELASTIC_RESTART_COUNT", "6"},
                                   {"TORCHELASTIC_MAX_RESTARTS", "9"},
                                   {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                                   {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                                   {"MASTER_ADDR", "10.0.0.1"},
                                   {"MASTER_PORT", "5000"},
                                   {"JAX_COORDINATOR_ADDRESS", "10.0.0.1:6000"},
                                   {"JAX_NUM_PROCESSES", "3"},
                                   {"JAX_PROCESS_ID", "2"},
                                   {"TF_CONFIG", cluster},
                                   {"TF_GRPC_REUSE_PORT", "1"},
                                   {"HOROVOD_RANK", "2"},
                                   {"HOROVOD_SIZE", "3"},
                                   {"HOROVOD_LOCAL_RANK", "0"},
                                   {"HOROVOD_LOCAL_SIZE", "1"},
                                   {"HOROVOD_CROSS_RANK", "1"},
                                   {"HOROVOD_CROSS_SIZE", "2"},
                                   {"HOROVOD_HOSTNAME", "::1"},
                                   {"HOROVOD_CONTROLLER", "gloo"},
                                   {"HOROVOD_CPU_OPERATIONS", "gloo"},
                                   {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "fe80::5"},
                                   {"HOROVOD_GLOO_RENDEZVOUS_PORT", "4000"},
                                   {"OMPI_COMM_WORLD_RANK", "2"},
                                   {"OMPI_COMM_WORLD_SIZE", "3"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                                   {"no_proxy", "fe80::5,10.0.0.1,a,::1"}});
}

TEST_CASE("an IPv6 address is bracketed where a port follows, and bare where none does") {
  const Plan plan = three_tasks();
  JobFacts job = facts();
  job.master_address = "2001:db8::1";
  const Environment environment = added(job, plan, plan.tasks[0]);
  CHECK(value(environment, "MASTER_ADDR") == "2001:db8::1");
  CHECK(value(environment, "JAX_COORDINATOR_ADDRESS") == "[2001:db8::1]:6000");
}

TEST_CASE("a task without rank gets every variable but ranks and sizes") {
  Plan plan = three_tasks();
  plan.tasks.push_back({.id = {"ps", 0}, .agent = 1});
  const Environment ranked = added(facts(), plan, plan.tasks[0]);
  const Environment environment = added(facts(), plan, plan.tasks[3]);
  CHECK(value(environment, "DTRAIN_ROLE") == "ps");
  CHECK(value(environment, "DTRAIN_HOSTNAME") == "::1");
  for (const auto& [name, unused] : ranked) {
    CAPTURE(name);
    const bool of_rank = name.ends_with("RANK") || name.ends_with("SIZE") ||
                         name == "DTRAIN_NNODES" || name == "JAX_NUM_PROCESSES" ||
                         name == "JAX_PROCESS_ID" || name.starts_with("HOROVOD_GLOO_RENDEZVOUS");
    CHECK(environment.contains(name) == !of_rank);
  }
}

/// The names that these sets add to the variables of every task.
std::set<std::string> names_of(const EnvSets& sets, bool ranked) {
  Plan plan = three_tasks();
  plan.tasks.push_back({.id = {"ps", 0}, .agent = 1});
  const Task& task = ranked ? plan.tasks[0] : plan.tasks[3];
  std::set<std::string> names;
  for (const auto& [name, unused] : added(facts(sets), plan, task)) {
    if (!name.starts_with("DTRAIN_") && name != "no_proxy") names.insert(name);
  }
  return names;
}

TEST_CASE("a set adds only its own variables, and without sets only DTRAIN_* remain") {
  CHECK(names_of({}, true).empty());
  CHECK(names_of({EnvSet::tf}, true) == std::set<std::string>{"TF_CONFIG", "TF_GRPC_REUSE_PORT"});
  CHECK(names_of({EnvSet::jax}, true) ==
        std::set<std::string>{"JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"});
  CHECK(names_of({EnvSet::slurm}, true) ==
        std::set<std::string>{"SLURM_JOB_ID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NPROCS",
                              "SLURM_NTASKS", "SLURM_PROCID", "SLURM_STEP_NODELIST"});
  CHECK(names_of({EnvSet::slurm}, false) ==
        std::set<std::string>{"SLURM_JOB_ID", "SLURM_STEP_NODELIST"});
  CHECK(names_of({EnvSet::torch}, false) ==
        std::set<std::string>{"MASTER_ADDR", "MASTER_PORT", "ROLE_NAME",
                              "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RESTART_COUNT",
                              "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE",
                              "TORCH_NCCL_ASYNC_ERROR_HANDLING"});
  CHECK(names_of({EnvSet::dmlc}, true) ==  // the job has no scheduler
        std::set<std::string>{"DMLC_NODE_HOST", "DMLC_ROLE", "DMLC_WORKER_ID"});
  CHECK(names_of({EnvSet::paddle}, false) == std::set<std::string>{"PADDLE_MASTER", "PADDLE_NNODES",
                                                                   "PADDLE_TRAINERS_NUM",
                                                                   "PADDLE_TRAINER_ENDPOINTS"});
  for (const std::string& name : names_of({EnvSet::horovod}, true))
    CHECK(name.starts_with("HOROVOD_"));
  CHECK(names_of({EnvSet::horovod}, true).size() == 11);
  for (const std::string& name : names_of(default_env_sets(), true))
    CHECK_FALSE(name.starts_with("PMI"));
}

TEST_CASE("JAX in a step of Slurm finds five names that agree, and the one GPU that it sees") {
  const Plan plan = three_tasks();
  JobFacts job = facts({EnvSet::jax, EnvSet::slurm});
  const Environment environment = added(job, plan, plan.tasks[1]);
  CHECK(value(environment, "SLURM_JOB_ID") == "6000");
  CHECK(value(environment, "SLURM_STEP_NODELIST") == "a");
  CHECK(value(environment, "SLURM_NTASKS") == "3");
  CHECK(value(environment, "SLURM_PROCID") == "1");
  CHECK(value(environment, "SLURM_LOCALID") == "1");
  CHECK(value(environment, "JAX_LOCAL_DEVICE_IDS") == "(unset)");
  job.own_gpus = 1;
  CHECK(value(added(job, plan, plan.tasks[1]), "JAX_LOCAL_DEVICE_IDS") == "0");
}

TEST_CASE("in a Slurm job, its own number and hosts come before those that are made up for JAX") {
  const Plan plan = three_tasks();
  JobFacts job = facts({EnvSet::slurm, EnvSet::slurm_job});
  job.slurm_job = "21";
  job.own_gpus = 1;
  const Environment environment = added(job, plan, plan.tasks[2]);
  CHECK(value(environment, "SLURM_JOB_ID") == "21");
  CHECK(value(environment, "SLURM_STEP_NODELIST") == "a,::1");
  CHECK(value(environment, "SLURM_NODEID") == "1");
  CHECK(value(environment, "JAX_LOCAL_DEVICE_IDS") == "0");
}

TEST_CASE("groups and roles are counted over tasks with a rank, and over those of the role") {
  Plan plan = make_plan({.hosts = {{.name = "a", .slots = 1}, {.name = "b", .slots = 2}}}).value();
  plan.tasks[0] = {.id = {"ps", 0}, .agent = 0};
  plan.tasks[1].id = {"chief", 0};
  plan.tasks[2].id = {"worker", 0};
  const Environment environment = added(facts(), plan, plan.tasks[2]);
  CHECK(value(environment, "GROUP_RANK") == "0");
  CHECK(value(environment, "GROUP_WORLD_SIZE") == "1");
  CHECK(value(environment, "ROLE_NAME") == "worker");
  CHECK(value(environment, "ROLE_RANK") == "0");
  CHECK(value(environment, "ROLE_WORLD_SIZE") == "1");
}

TEST_CASE("a set's variables override the user's, except those that yield") {
  const HostFacts host{.own = {}, .hostname = "h"};
  const Environment users = {{"RANK", "9"},
                             {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},
                             {"HOROVOD_GLOO_IFACE", "eth1"},
                             {"JAX_LOCAL_DEVICE_IDS", "1"},
                             {"SLURM_JOB_ID", "77"}};
  Environment sets = users;
  for (auto& [name, text] : sets)
    text = "0";
  const Environment environment = worker_environment(users, host, sets, {});
  for (const auto& [name, text] : users) {
    CAPTURE(name);
    CHECK(value(environment, name) == (name == "RANK" ? "0" : text));
  }
  CHECK(value(worker_environment({}, host, sets, {}), "SLURM_JOB_ID") == "0");
  CHECK(yields_to_user("SLURM_JOB_ID"));
  CHECK(yields_to_user("SLURM_PROCID"));
}

TEST_CASE("Horovod's workers are not sent to a rendezvous that does not answer them") {
  const Plan plan = three_tasks();
  JobFacts job = facts();
  job.horovod = false;
  const Environment environment = added(job, plan, plan.tasks[0]);
  CHECK(value(environment, "HOROVOD_CONTROLLER") == "(unset)");
  CHECK(value(environment, "HOROVOD_GLOO_RENDEZVOUS_ADDR") == "(unset)");
}

TEST_CASE("a task without rank gets no rendezvous of Horovod, where it would be rank 0") {
  Plan plan = three_tasks();
  plan.tasks.push_back({.id = {"ps", 0}, .agent = 1});
  const Environment environment = added(facts(), plan, plan.tasks[3]);
  CHECK(value(environment, "HOROVOD_GLOO_RENDEZVOUS_ADDR") == "(unset)");
  CHECK(value(environment, "HOROVOD_GLOO_RENDEZVOUS_PORT") == "(unset)");
}

TEST_CASE("a dtrain that a worker starts does not forward the outer dtrain's defaults") {
  const HostFacts host{.own = {}, .hostname = "h", .interface = "eth0"};
  const Environment chosen = {{"LANG", "C"}, {"GLOO_SOCKET_IFNAME", "ib0"}};
  const Plan plan = three_tasks();
  JobFacts job = facts({EnvSet::torch, EnvSet::tf, EnvSet::horovod, EnvSet::jax, EnvSet::ompi,
                        EnvSet::slurm, EnvSet::slurm_job, EnvSet::dmlc, EnvSet::paddle});
  job.own_gpus = 1;
  Environment worker =
      worker_environment(chosen, host, added(job, plan, plan.tasks[0]), {.cpus = 8, .tasks = 2});
  CHECK(worker.at("OMP_NUM_THREADS") == "4");
  CHECK(forwarded(worker) == chosen);
  // A value that the worker has changed is a setting of its user.
  worker["OMP_NUM_THREADS"] = "1";
  CHECK(forwarded(worker).at("OMP_NUM_THREADS") == "1");
  // -x without a value requests the variable, even if it is a default.
  CHECK(forwarded(worker, {{"NCCL_SOCKET_IFNAME", {}}}).at("NCCL_SOCKET_IFNAME") == "=eth0");
}

TEST_CASE("TF_CONFIG is left out where no program could be started with it") {
  const Plan plan = three_tasks();
  JobFacts job = facts();
  for (int i = 0; i < 10'000; ++i)
    job.cluster.jobs["worker"][i] = "10.200.200.200:40000";
  const Environment environment = added(job, plan, plan.tasks[0]);
  CHECK(!environment.contains("TF_CONFIG"));
  for (const auto& [name, text] : environment) {
    CHECK(name.size() + text.size() + 2 <= variable_bytes_max);
  }
}

TEST_CASE("the host's part comes from the host, unless -x set it; the task's comes over all") {
  const Environment agent = {{"HOME", "/root"},
                             {"SSH_CONNECTION", "c"},
                             {"LANG", "fr"},
                             {"PORT", "1"},
                             {"TMPDIR", "/t"},
                             {"DTRAIN_OPT_NP", "2"},
                             {"CUDA_VISIBLE_DEVICES", "1"}};
  const HostFacts host{.own = host_environment(agent, {}), .hostname = "node7"};
  const Environment environment =
      worker_environment({{"LANG", "C"}, {"TMPDIR", "/x"}, {"RANK", "9"}}, host, {{"RANK", "1"}},
                         {.cpus = 8, .tasks = 3});
  CHECK(environment == Environment{{"LANG", "C"},
                                   {"TMPDIR", "/x"},
                                   {"RANK", "1"},
                                   {"HOME", "/root"},
                                   {"SSH_CONNECTION", "c"},
                                   {"CUDA_VISIBLE_DEVICES", "1"},
                                   {"HOSTNAME", "node7"},
                                   {"PYTHONUNBUFFERED", "1"},
                                   {"OMP_NUM_THREADS", "2"},
                                   {"DTRAIN_DEFAULTS", "OMP_NUM_THREADS=2 PYTHONUNBUFFERED=1"}});
}

TEST_CASE("on the launcher's own host a worker sees its home, its functions and its devices") {
  const Environment own = {{"HOME", "/h"},
                           {"BASH_FUNC_module%%", "() { :; }"},
                           {"NVIDIA_VISIBLE_DEVICES", "all"},
                           {"HOSTNAME", "box"}};
  const HostFacts host{.own = host_environment(own, {}), .hostname = "box.example.org"};
  const Environment environment = worker_environment(forwarded(own), host, {}, {});
  for (const auto& [name, text] : own)
    CHECK(value(environment, name) == text);
}

TEST_CASE("OMP_NUM_THREADS is the tasks' share of the CPUs, at least 1, unless it is set") {
  const auto threads = [](int cpus, int tasks, const Environment& set) {
    const HostFacts host{.own = {}, .hostname = "h"};
    return worker_environment(set, host, {}, {.cpus = cpus, .tasks = tasks}).at("OMP_NUM_THREADS");
  };
  CHECK(threads(8, 2, {}) == "4");
  CHECK(threads(8, 3, {}) == "2");
  CHECK(threads(2, 4, {}) == "1");
  CHECK(threads(8, 2, {{"OMP_NUM_THREADS", "7"}}) == "7");
  CHECK(threads(8, 2, {{"OMP_NUM_THREADS", ""}}) == "");
}

TEST_CASE("the interface that leads to the host is named for NCCL and gloo, unless the user has") {
  HostFacts host{.own = {}, .hostname = "h", .interface = "ens5"};
  const Environment set = worker_environment({{"GLOO_SOCKET_IFNAME", ""}}, host, {}, {});
  CHECK(set.at("NCCL_SOCKET_IFNAME") == "=ens5");
  CHECK(set.at("GLOO_SOCKET_IFNAME").empty());
  const Environment other = worker_environment({{"NCCL_SOCKET_IFNAME", "^lo"}}, host, {}, {});
  CHECK(other.at("NCCL_SOCKET_IFNAME") == "^lo");
  CHECK(other.at("GLOO_SOCKET_IFNAME") == "ens5");
  CHECK(other.at("TP_SOCKET_IFNAME") == "ens5");
  host.interface = "";
  CHECK_FALSE(worker_environment({}, host, {}, {}).contains("NCCL_SOCKET_IFNAME"));
  CHECK_FALSE(worker_environment({}, host, {}, {}).contains("GLOO_SOCKET_IFNAME"));
}

TEST_CASE("PYTHONUNBUFFERED stays as the user set it, also empty") {
  const HostFacts host{.own = {}, .hostname = "h"};
  CHECK(
      worker_environment({{"PYTHONUNBUFFERED", ""}}, host, {}, {}).at("PYTHONUNBUFFERED").empty());
}

TEST_CASE("where there is a proxy, the job's names are appended to both spellings of no_proxy") {
  struct Case {
    Environment set;
    const char* lower;
    const char* upper;
  };
  const Case cases[] = {
      {{}, "(unset)", "(unset)"},
      {{{"no_proxy", "x"}}, "x", "(unset)"},
      {{{"http_proxy", ""}}, "(unset)", "(unset)"},
      {{{"http_proxy", "p"}}, "a,b", "a,b"},
      {{{"HTTPS_PROXY", "p"}, {"NO_PROXY", "x"}}, "x,a,b", "x,a,b"},
      {{{"all_proxy", "p"}, {"no_proxy", "x"}, {"NO_PROXY", "y"}}, "x,a,b", "y,a,b"},
      {{{"http_proxy", "p"}, {"no_proxy", "*"}}, "*", "*"},
      {{{"http_proxy", "p"}, {"no_proxy", "*"}, {"NO_PROXY", "y"}}, "*", "y,a,b"},
  };
  const HostFacts host{.own = {}, .hostname = "h"};
  for (const Case& c : cases) {
    const Environment environment = worker_environment(c.set, host, {{"no_proxy", "a,b"}}, {});
    CHECK(value(environment, "no_proxy") == c.lower);
    CHECK(value(environment, "NO_PROXY") == c.upper);
  }
  const std::string long_list(variable_bytes_max - 20, 'x');
  const Environment environment = worker_environment({{"http_proxy", "p"}, {"no_proxy", long_list}},
                                                     host, {{"no_proxy", "0123456789012345"}}, {});
  CHECK(environment.at("no_proxy") == long_list);
}

TEST_CASE("tasks of a partial plan get no variables that need the whole job") {
  JobFacts part = facts();
  part.rendezvous.clear();
  part.horovod = false;
  const Plan plan = three_tasks();
  const Environment partial = added(part, plan, plan.tasks[0]);
  for (const char* name : {"DTRAIN_RENDEZVOUS", "DTRAIN_TOKEN", "DTRAIN_GENERATION",
                           "HOROVOD_CONTROLLER", "HOROVOD_GLOO_RENDEZVOUS_ADDR"})
    CHECK(value(partial, name) == "(unset)");
  CHECK(value(partial, "DTRAIN_JOB_ID") == "job-1");
  CHECK(value(partial, "MASTER_ADDR") == "10.0.0.1");
  part.master_address.clear();
  const Environment unranked = added(part, plan, plan.tasks[0]);
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "JAX_COORDINATOR_ADDRESS"})
    CHECK(value(unranked, name) == "(unset)");
}

TEST_CASE("a restarted task finds its attempt, also under torchrun's names") {
  CHECK(attempt_environment({EnvSet::torch}, {.attempt = 3, .generation = 4, .restarts_max = 5}) ==
        Environment{{"DTRAIN_ATTEMPT", "3"},
                    {"TORCHELASTIC_RESTART_COUNT", "5"},
                    {"TORCHELASTIC_MAX_RESTARTS", "5"}});
  CHECK(attempt_environment({}, {.attempt = 2}) == Environment{{"DTRAIN_ATTEMPT", "2"}});
}

}  // namespace
}  // namespace dt
