#include "launcher/config/torchrun_command.h"

#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("torchrun's options for the command and its output") {
  const RunConfig module =
      decide({flags({{"np", {"1"}}, {"module", {"true"}}, {"max-restarts", {"0"}}})}).value();
  CHECK(module.command == std::vector<std::string>{"python3", "-m", "true"});
  const auto quiet = [](const char* name, const char* value) {
    return decide({flags({{"np", {"1"}}, {name, {value}}, {"output-dir", {"logs"}}})})
        .value()
        .quiet;
  };
  CHECK(quiet("redirects", "3"));
  CHECK_FALSE(quiet("redirects", "0"));
  CHECK_FALSE(quiet("tee", "3"));
}

TEST_CASE("a command line of torchrun runs as typed") {
  const auto typed = [](const OptionValues& values, std::vector<std::string> command) {
    return make_run_config({flags(values)}, std::move(command), few_files).value();
  };
  const OptionValues two = {{"nproc-per-node", {"2"}}, {"standalone", {"true"}}};
  CHECK(typed(two, {"train.py", "--lr"}).command ==
        std::vector<std::string>{"python3", "train.py", "--lr"});
  CHECK(typed(two, {"./train"}).command == std::vector<std::string>{"./train"});
  CHECK(typed({{"np", {"2"}}}, {"train.py"}).command == std::vector<std::string>{"train.py"});
  CHECK(typed({{"standalone", {"true"}}, {"no-python", {"true"}}}, {"./a.py"}).command ==
        std::vector<std::string>{"./a.py"});
  CHECK(typed({{"standalone", {"true"}}}, {"a"}).placement.per_host == 1);
  CHECK_FALSE(
      typed({{"standalone", {"true"}}, {"role", {"ps=1,worker=2"}}}, {"a"}).placement.per_host);
  const RunConfig named =
      typed({{"nproc-per-node", {"2"}}, {"role", {"trainer"}}, {"max-restarts", {"3"}}}, {"a"});
  REQUIRE(named.warnings.size() == 1);
  CHECK(named.warnings[0] ==
        "--role trainer: a label of torchrun; these processes are worker here");
  CHECK(named.restarts.max == 3);
  const RunConfig files = typed({{"nproc-per-node", {"2"}}, {"redirects", {"3"}}}, {"a"});
  CHECK(files.quiet);
  CHECK(files.output_dir == "/tmp/dtrain-logs-{job_id}");
}

}  // namespace
}  // namespace dt
