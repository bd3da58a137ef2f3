#include "tests/unit/comm/world_fixture.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

namespace dt {
namespace {

std::string algorithms_of(dtrain_context* context) {
  std::string text(dtrain_algorithms(context, nullptr, 0), '\0');
  dtrain_algorithms(context, text.data(), text.size() + 1);
  return text;
}

TEST_CASE("a program can read the algorithms of its ranks and hosts") {
  World world({.size = 4, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& ranks) {
    CHECK(algorithms_of(ranks.get()) ==
          "all_reduce=recursive_doubling:16k:hierarchical,broadcast=hierarchical,"
          "all_gather=bruck:4k:hierarchical,reduce_scatter=hierarchical,reduce=tree:32k:ring,"
          "gather=tree:8k:direct,scatter=tree:8k:direct,all_to_all=pairwise,"
          "all_to_all_split=pairwise,all_gather_ragged=ring,barrier=dissemination");
  }));
}

TEST_CASE("the job's table of algorithms holds on every rank, and the results are the same") {
  for (const char* table : {"ring", "tree:100:halving_doubling", "recursive_doubling:8k:ring",
                            "hierarchical", "ring,broadcast=tree"}) {
    CAPTURE(table);
    World world({.size = 5, .per_host = 2, .algorithms = table});
    const std::string named = std::string("all_reduce=") + table;
    const std::string all_reduce = named.substr(0, named.find(','));
    check_all_well(world.run([&](dtrain::Context& ranks) {
      CHECK(algorithms_of(ranks.get()).starts_with(all_reduce + ","));
      for (const size_t count : {size_t{3}, size_t{5000}}) {
        std::vector<double> values(count, ranks.rank() + 1);
        ranks.all_reduce(values, dtrain::Op::sum);
        CHECK(values == std::vector<double>(count, 15));
        ranks.broadcast(values, 3);
      }
    }));
  }
}

TEST_CASE("collectives in shared memory are shown as shm, others of the same ranks are not") {
  World world({.size = 2, .per_host = 2, .algorithms = "tree"});
  check_all_well(world.run([](dtrain::Context& ranks) {
    CHECK(algorithms_of(ranks.get()).starts_with("all_reduce=shm,"));
  }));
}

TEST_CASE("a table that this libdtrain does not know fails the join with the table's fault") {
  World world({.size = 1, .per_host = 1, .algorithms = "star"});
  const auto outcomes = world.run([](dtrain::Context&) {});
  CHECK(outcomes[0].code == DTRAIN_ERROR_INPUT);
  CHECK(contains(outcomes[0].text, "the job's --algorithms \"star\": column 1: expected an "));
  CHECK(contains(outcomes[0].text, "does this libdtrain have the version of dtrain run?"));
}

TEST_CASE("the text of the algorithms is cut to its buffer, and always ended") {
  CHECK(dtrain_algorithms(nullptr, nullptr, 0) == 0);
  const Alone alone;
  std::vector<char> text(12, 'x');
  const size_t length = dtrain_algorithms(alone.context, text.data(), 11);
  CHECK(length > 100);
  CHECK(std::strcmp(text.data(), "all_reduce") == 0);
  CHECK(text[11] == 'x');
}

}  // namespace
}  // namespace dt
