#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("ranks are dealt as processes are, unless --rank-by is given") {
  using Values = std::map<std::string, std::vector<std::string>, std::less<>>;
  struct Case {
    Values values;
    std::optional<MapBy> map_by;
    std::optional<MapBy> rank_by;
  };
  const Case cases[] = {
      {{}, std::nullopt, std::nullopt},
      {{{"map-by", {"slot"}}}, MapBy::slot, MapBy::slot},
      {{{"map-by", {"node"}}}, MapBy::node, MapBy::node},
      {{{"map-by", {"node"}}, {"rank-by", {"slot"}}}, MapBy::node, MapBy::slot},
      {{{"rank-by", {"node"}}}, std::nullopt, MapBy::node},
  };
  for (const Case& c : cases) {
    OptionSource source = flags(c.values);
    source.values["np"] = {"1"};
    source.origins["np"] = "-np";
    const PlacementOptions placement = decide({source}).value().placement;
    CHECK(placement.map_by == c.map_by);
    CHECK(placement.rank_by == c.rank_by);
  }
}

TEST_CASE("--ppn is the number of processes of this machine, without -np") {
  const RunConfig config = decide({flags({{"ppn", {"3"}}})}).value();
  CHECK(task_count(config.roles) == 0);
  CHECK(config.placement.per_host == 3);
  CHECK(error_of(decide({flags({{"ppn", {"4097"}}})})) == "--ppn: expected 1..4096, got 4097");
}

TEST_CASE("torchrun's --numa-binding node binds near the GPU, and other modes are answered") {
  const auto bind_to = [](const OptionValues& values) {
    return decide({flags(values)}).value().placement.bind_to;
  };
  CHECK(bind_to({{"np", {"1"}}, {"numa-binding", {"node"}}}) == BindTo::near_gpu);
  CHECK(bind_to({{"np", {"1"}}, {"bind-to", {"auto"}}}) == BindTo::automatic);
  const Refusal cases[] = {
      {{{"np", {"1"}}, {"numa-binding", {"socket"}}},
       "--numa-binding: socket: a socket is mostly one NUMA node; write: --numa-binding node"},
      {{{"np", {"1"}}, {"numa-binding", {"exclusive"}}},
       "--numa-binding: exclusive: dtrain gives each process cores of its own by --role-cpus "
       "worker=N; write that, or --bind-to core for one core each"},
      {{{"np", {"1"}}, {"numa-binding", {"core-complex"}}},
       "--numa-binding: core-complex: dtrain does not see which cores share a cache; write: "
       "--numa-binding node, or --role-cpus worker=N for N cores each"},
      {{{"np", {"1"}}, {"numa-binding", {"numa"}}}, "--numa-binding: expected node, got \"numa\""},
      {{{"np", {"1"}}, {"numa-binding", {"node"}}, {"bind-to", {"core"}}},
       "--numa-binding: conflicts with --bind-to; give one of them"},
  };
  expect_refused(cases);
}

}  // namespace
}  // namespace dt
