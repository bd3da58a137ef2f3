#include "launcher/config/files/config_show.h"

#include "launcher/config/options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

OptionSource source(const OptionValues& values, const std::string& prefix,
                    const std::string& suffix = "") {
  OptionSource made{values, {}};
  for (const auto& [name, unused] : values) {
    made.origins[name] = prefix + name;
    if (!suffix.empty()) made.origins[name] = prefix + ": " + name;
  }
  return made;
}

std::vector<OptionSource> sources() {
  return {source({{"np", {"2"}}, {"hosts", {"a:2"}}}, "--"),
          source({{"np", {"4"}}, {"quiet", {"1"}}}, "DTRAIN_OPT_"),
          source({{"hostfile", {"hosts"}}, {"grace", {"3"}}, {"env", {"A=\"1\"", "B"}}},
                 "dtrain.toml:1:1", "file")};
}

TEST_CASE("the output is a file that decides the same") {
  const std::string text = decided_toml(decided_options(sources(), false), false);
  CHECK(text ==
        "np = 2\n"
        "hosts = \"a:2\"\n"
        "env = [\"A=\\\"1\\\"\", \"B\"]\n"
        "grace = 3\n"
        "quiet = true\n");
  const auto none = [](const std::string&) -> Result<std::string> { return fail(Errc::os, ""); };
  const auto read_back = make_run_config({read_toml_options(text, "t").value()}, {"true"}, none);
  auto direct = make_run_config(sources(), {"true"}, none);
  REQUIRE(read_back);
  REQUIRE(direct);
  for (EnvironmentSetting& setting : direct->environment)
    setting.origin = read_back->environment.front().origin;
  CHECK(*read_back == *direct);
}

TEST_CASE("of -H, a hostfile and a program for the hosts, the nearest one is shown") {
  const OptionSource script = source({{"host-discovery-script", {"./h"}}}, "--");
  const OptionSource hosts = source({{"hosts", {"a:2"}}}, "--");
  const auto shown = [](const OptionSources& sources) {
    return decided_toml(decided_options(sources, false), false);
  };
  CHECK(shown({script, hosts}) == "host-discovery-script = \"./h\"\n");
  CHECK(shown({hosts, script}) == "hosts = \"a:2\"\n");
}

TEST_CASE("each origin is the source that won") {
  CHECK(decided_toml(decided_options(sources(), false), true) ==
        "np = 2                  # --np\n"
        "hosts = \"a:2\"           # --hosts\n"
        "env = [\"A=\\\"1\\\"\", \"B\"]  # dtrain.toml:1:1\n"
        "grace = 3               # dtrain.toml:1:1\n"
        "quiet = true            # DTRAIN_OPT_quiet\n");
  CHECK(decided_json(decided_options({sources()[1]}, false)).text() ==
        R"({"np":{"value":4,"origin":"DTRAIN_OPT_np"},)"
        R"("quiet":{"value":true,"origin":"DTRAIN_OPT_quiet"}})");
  CHECK(decided_toml({}, true) ==
        "# No option is set; see the defaults: dtrain config show --all\n");
}

TEST_CASE("lists of variables add up, and each value shows its source") {
  const std::vector<OptionSource> all = {source({{"env", {"B=3", "C"}}}, "-"),
                                         source({{"env", {"A=1", "B=2"}}}, "dtrain.toml:1:1", "f"),
                                         source({{"env", {"A=0", "D=4"}}}, "config.toml:2:1", "f")};
  const std::vector<DecidedOption> decided = decided_options(all, false);
  CHECK(decided_toml(decided, false) == "env = [\"D=4\", \"A=1\", \"B=3\", \"C\"]\n");
  CHECK(decided_toml(decided, true) ==
        "env = [\n"
        "  \"D=4\",  # config.toml:2:1\n"
        "  \"A=1\",  # dtrain.toml:1:1\n"
        "  \"B=3\",  # -env\n"
        "  \"C\",  # -env\n"
        "]\n");
  CHECK(decided_json(decided).text() == R"({"env":{"value":["D=4","A=1","B=3","C"],)"
                                        R"("origin":"config.toml:2:1, dtrain.toml:1:1, -env"}})");
}

TEST_CASE("the defaults that are shown are those that hold") {
  OptionSource shown;
  for (const DecidedOption& one : decided_options({}, true)) {
    CHECK(one.origin == "default");
    shown.values[std::string(one.option->name)] = one.values;
  }
  CHECK(shown.values.at("start-timeout") == std::vector<std::string>{"30s"});
  CHECK(shown.values.at("quiet") == std::vector<std::string>{"false"});
  CHECK_FALSE(shown.values.contains("np"));
  CHECK_FALSE(shown.values.contains("autotune"));
  CHECK_FALSE(shown.values.contains("dead-after"));  // it has two
  shown.values["np"] = {"1"};
  RunConfig expected;
  expected.roles = workers(1);
  expected.command = {"true"};
  CHECK(make_run_config({shown}, {"true"}, {}).value() == expected);
}

TEST_CASE("a cluster or counted tasks: only the first of them is shown") {
  const OptionSource cluster = source({{"cluster-spec", {"worker|a:1"}}}, "--");
  const OptionSource none = source({{"cluster-spec", {"none"}}}, "--");
  const OptionSource counts = source({{"np", {"2"}}, {"hosts", {"a:2"}}}, "--");
  const auto shown = [](const std::vector<OptionSource>& by_precedence) {
    return decided_toml(decided_options(by_precedence, false), false);
  };
  CHECK(shown({cluster, counts}) == "cluster-spec = \"worker|a:1\"\n");
  CHECK(shown({counts, cluster}) == "np = 2\nhosts = \"a:2\"\n");
  CHECK(shown({none, counts}) == "np = 2\nhosts = \"a:2\"\ncluster-spec = \"none\"\n");
}

}  // namespace
}  // namespace dt
