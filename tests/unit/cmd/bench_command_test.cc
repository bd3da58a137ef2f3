#include "cmd/bench_command.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>

namespace dt {
namespace {

RunConfig decided(OptionSource flags, std::vector<std::string> environment = {}) {
  RunRequest request = bench_request({});
  request.flags = std::move(flags);
  request.environment = std::move(environment);
  auto config = load_run_config(std::move(request));
  REQUIRE_MESSAGE(config, config.error().message);
  return *std::move(config);
}

OptionSource with_np(OptionValues values = {}) {
  values["np"] = {"2"};
  return {.values = std::move(values), .origins = {}};
}

TEST_CASE("the ranks are this executable, each on cores of its own and without tags") {
  const RunConfig config = decided(with_np());
  REQUIRE(config.command.size() > 2);
  CHECK(config.command[0] == "self");
  CHECK(config.command[1] == "__bench");
  CHECK(config.command[2] == "all_reduce");
  CHECK(config.no_tag);
  CHECK(config.no_macros);
  CHECK(config.no_horovod);
  CHECK(config.placement.bind_to == BindTo::automatic);
}

TEST_CASE("flags and variables win over the settings of bench") {
  CHECK(decided(with_np({{"bind-to", {"none"}}})).placement.bind_to == BindTo::none);
  CHECK(decided(with_np(), {"DTRAIN_OPT_BIND_TO=numa"}).placement.bind_to == BindTo::numa);
}

TEST_CASE("a comparison measures this machine, also within a scheduler's job") {
  const std::vector<std::string> environment = {"LSB_JOBID=7", "LSB_HOSTS=a b"};
  CHECK(decided(with_np(), environment).hosts.size() == 2);
  RunRequest request = bench_request({.compare = "mpirun"});
  request.flags = with_np();
  request.environment = environment;
  CHECK(load_run_config(std::move(request)).value().hosts.empty());
}

TEST_CASE("roles and clusters of a training job are not those of the measurement") {
  const RunConfig config =
      decided(with_np(),
              {"DTRAIN_OPT_ROLE=chief=1 worker=4", "DTRAIN_OPT_OUTPUT_DIR=logs",
               R"(TF_CONFIG={"cluster":{"worker":["h1:1"]},"task":{"type":"worker","index":0}})"});
  REQUIRE(config.roles.size() == 1);
  CHECK(config.roles[0].count == 2);
  CHECK_FALSE(config.external_cluster);
  CHECK_FALSE(config.output_dir);
}

TEST_CASE("mpirun starts this executable, with the same measurement and transport") {
  const BenchOptions options = {
      .bytes_min = 64, .transport = "tcp", .compare = "mpirun", .progress = true};
  const std::vector<std::string> command = mpirun_command("/bin/mpirun", "/bin/dtrain", 3, options);
  CHECK(std::vector(command.begin(), command.begin() + 3) ==
        std::vector<std::string>{"/bin/mpirun", "-np", "3"});
  CHECK(std::ranges::count(command, "tcp,self") == 1);
  const auto own = std::ranges::find(command, "/bin/dtrain");
  REQUIRE(own != command.end());
  CHECK(*(own + 1) == "__bench");
  const auto read = parse_rank_words(std::span(own + 2, command.end()));
  REQUIRE(read);
  BenchOptions expected = options;
  expected.library = "mpi";
  expected.progress = false;
  CHECK(*read == expected);
}

TEST_CASE("a person sees progress on a terminal that can show it") {
  CHECK(shows_progress(true, {{"TERM", "xterm"}}));
  CHECK_FALSE(shows_progress(false, {{"TERM", "xterm"}}));
  CHECK_FALSE(shows_progress(true, {{"TERM", "dumb"}}));
  CHECK_FALSE(shows_progress(true, {}));
  CHECK_FALSE(shows_progress(true, {{"TERM", "xterm"}, {"CI", "true"}}));
}

}  // namespace
}  // namespace dt
