#include "launcher/plan/strategy_check.h"

#include "base/format.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// Returns the message for the strategy in a job of these roles; "good": none.
std::string answer(std::optional<StrategyName> strategy, std::vector<Role> roles) {
  const int slots = task_count(roles);
  const Plan plan =
      make_plan({.hosts = {{.name = "a", .slots = slots}}, .roles = std::move(roles)}).value();
  RunConfig config;
  config.strategy = strategy;
  const Result<> checked = check_strategy(config, plan);
  if (checked) return "good";
  CHECK(checked.error().code == Errc::input);
  return checked.error().message;
}

std::vector<Role> with_servers(int count) {
  return {{.name = "worker", .count = count}, {.name = "ps", .count = 1, .ranked = false}};
}

TEST_CASE("a strategy of one process refuses several workers, and names the one that was meant") {
  for (const StrategyName name :
       {StrategyName::mirrored, StrategyName::central_storage, StrategyName::one_device}) {
    CHECK(answer(name, workers(1)) == "good");
    CHECK(answer(name, workers(3)) ==
          format("--strategy {}: it trains in one process, and the job has 3 workers, each of "
                 "which would train alone; use --strategy multi_worker_mirrored",
                 strategy_text(name)));
    CHECK(answer(name, with_servers(2)).ends_with("use --strategy parameter_server"));
  }
}

TEST_CASE("an evaluator is no second worker") {
  const std::vector<Role> roles = {{.name = "chief", .count = 1},
                                   {.name = "evaluator", .count = 1, .ranked = false}};
  CHECK(answer(StrategyName::mirrored, roles) == "good");
}

TEST_CASE("parameter_server needs a ps") {
  CHECK(answer(StrategyName::parameter_server, workers(2)) ==
        "--strategy parameter_server: the job has no ps; add --role ps=1");
  CHECK(answer(StrategyName::parameter_server, with_servers(2)) == "good");
}

TEST_CASE("a synchronous step of more workers than the job has is refused") {
  const auto answer_to = [](int count) {
    const Plan plan =
        make_plan({.hosts = {{.name = "a", .slots = 3}}, .roles = with_servers(2)}).value();
    RunConfig config;
    config.strategy = StrategyName::parameter_server;
    config.ps_mode = ServerMode{ServerMode::Kind::sync, count};
    const Result<> checked = check_strategy(config, plan);
    return checked ? "good" : checked.error().message;
  };
  CHECK(answer_to(0) == "good");
  CHECK(answer_to(2) == "good");
  CHECK(answer_to(3) == "--ps-mode sync:3: the job has 2 workers; give sync:1 to sync:2");
}

TEST_CASE("two copies of variables need two parameter servers") {
  const auto answer_to = [](int servers, int replicas) {
    std::vector<Role> roles = workers(2);
    if (servers > 0) roles.push_back({.name = "ps", .count = servers, .ranked = false});
    const Plan plan = make_plan({.hosts = {{.name = "a", .slots = 4}}, .roles = roles}).value();
    RunConfig config;
    config.ps_replicas = replicas;
    const Result<> checked = check_strategy(config, plan);
    return checked ? "good" : checked.error().message;
  };
  CHECK(answer_to(0, 1) == "good");
  CHECK(answer_to(2, 2) == "good");
  CHECK(answer_to(1, 2) == "--ps-replicas 2: the job has 1 ps; add --role ps=2");
  CHECK(answer_to(0, 2) == "--ps-replicas 2: the job has 0 ps; add --role ps=2");
}

TEST_CASE("all other jobs are good") {
  CHECK(answer(StrategyName::multi_worker_mirrored, workers(1)) == "good");
  CHECK(answer(StrategyName::multi_worker_mirrored, workers(4)) == "good");
  CHECK(answer(std::nullopt, workers(4)) == "good");
}

TEST_CASE("restarts of workers that train by collectives, or of one of several ps, are refused") {
  struct Wanted {
    StrategyName strategy = StrategyName::parameter_server;
    std::optional<ServerMode> mode = {};
    int servers = 1;
    int worker_restarts = 0;
    int server_restarts = 0;
    int replicas = 1;
    bool always = false;
  };
  const auto answer_to = [](const Wanted& wanted) -> std::string {
    std::vector<Role> roles = {{.name = "worker", .count = 2, .restarts = wanted.worker_restarts},
                               {.name = "ps",
                                .count = wanted.servers,
                                .command = {wanted.replicas > 1 ? "server" : "self", "ps"},
                                .ranked = false,
                                .restarts = wanted.server_restarts,
                                .restarts_always = wanted.always}};
    const Plan plan =
        make_plan({.hosts = {{.name = "a", .slots = 9}}, .roles = std::move(roles)}).value();
    RunConfig config;
    config.strategy = wanted.strategy;
    config.ps_mode = wanted.mode;
    config.ps_replicas = wanted.replicas;
    const Result<> checked = check_strategy(config, plan);
    return checked ? "good" : checked.error().message;
  };
  const ServerMode async{ServerMode::Kind::async, 0};
  CHECK(answer_to({.mode = async, .worker_restarts = 1, .server_restarts = 1}) == "good");
  CHECK(answer_to({.mode = async, .servers = 2, .worker_restarts = 1}) == "good");
  CHECK(answer_to({.mode = ServerMode{ServerMode::Kind::sync, 1}, .worker_restarts = 1}) == "good");
  CHECK(answer_to({.server_restarts = 1}) == "good");
  CHECK(answer_to({.worker_restarts = 1}) ==
        "--restart-role worker=1: --ps-mode sync needs every worker, and ends when one of them "
        "dies; use --ps-mode async, bounded:N, or sync:N of fewer workers");
  CHECK(answer_to({.mode = ServerMode{ServerMode::Kind::sync, 2}, .worker_restarts = 1})
            .starts_with("--restart-role worker=1: --ps-mode sync:2 needs every worker"));
  CHECK(answer_to({.servers = 2, .server_restarts = 3}) ==
        "--restart-role ps=3: the job has 2 parameter servers, and a restarted one would have "
        "values of another step than the others; use one server, or start the job again from its "
        "checkpoints");
  CHECK(answer_to({.servers = 2, .server_restarts = restarts_unlimited, .always = true})
            .starts_with("--restart-role ps=always: the job has 2 parameter servers"));
  CHECK(answer_to({.server_restarts = restarts_unlimited, .always = true}) == "good");
  // A server of another program has no copies after its restart, either.
  CHECK(answer_to({.servers = 2, .server_restarts = 3, .replicas = 2})
            .starts_with("--restart-role ps=3: the job has 2 parameter servers"));
  CHECK(answer_to({.mode = async, .servers = 2, .worker_restarts = 1, .replicas = 2}) == "good");
  CHECK(answer_to({.strategy = StrategyName::multi_worker_mirrored, .worker_restarts = 1}) ==
        "--restart-role worker=1: workers of --strategy multi_worker_mirrored train by "
        "collectives, which end when one of them dies; use --strategy parameter_server with "
        "--ps-mode async, or start the job again from its checkpoint");
  ServerMode local{ServerMode::Kind::async, 0};
  local.local = true;
  CHECK(answer_to({.mode = local, .worker_restarts = 1})
            .starts_with("--restart-role worker=1: --ps-mode local-async needs every worker"));
}

TEST_CASE("check_strategy: a job that may have several ranks later trains in no one process") {
  RunConfig config;
  config.roles = workers(1);
  config.strategy = StrategyName::mirrored;
  const Plan plan =
      make_plan({.hosts = {{.name = "a", .slots = 1}}, .roles = config.roles}).value();
  CHECK(check_strategy(config, plan).has_value());
  config.restarts.size = JobSize{.ranks_max = 1};
  CHECK(check_strategy(config, plan).has_value());
  config.restarts.size->ranks_max = 0;
  const auto checked = check_strategy(config, plan);
  REQUIRE_FALSE(checked.has_value());
  CHECK(checked.error().message.find("the job may have several workers") != std::string::npos);
}

}  // namespace
}  // namespace dt
