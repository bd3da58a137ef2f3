#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("ranks are dealt as processes are, unless --rank-by says otherwise") {
  using Values = std::map<std::string, std::vector<std::string>, std::less<>>;
  struct Case {
    Values values;
    DealBy map_by;
    DealBy rank_by;
  };
  const Case cases[] = {
      {{}, DealBy::slot, DealBy::slot},
      {{{"map-by", {"slot"}}}, DealBy::slot, DealBy::slot},
      {{{"map-by", {"node"}}}, DealBy::node, DealBy::node},
      {{{"map-by", {"node"}}, {"rank-by", {"slot"}}}, DealBy::node, DealBy::slot},
      {{{"rank-by", {"node"}}}, DealBy::slot, DealBy::node},
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

TEST_CASE("--ppn says how many processes this machine gets, without -np") {
  const RunConfig config = decide({flags({{"ppn", {"3"}}})}).value();
  CHECK(task_count(config.roles) == 0);
  CHECK(config.placement.per_host == 3);
  CHECK(error_of(decide({flags({{"ppn", {"4097"}}})})) == "--ppn: expected 1..4096, got 4097");
}

}  // namespace
}  // namespace dt
