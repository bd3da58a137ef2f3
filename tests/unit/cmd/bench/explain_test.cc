#include "cmd/bench/explain.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("an explanation has a line for each operation and range of sizes") {
  const std::string text = explain_text("all_reduce=tree:16k:ring:2m:hierarchical,broadcast=shm",
                                        {.ranks = 4, .hosts = 2});
  CHECK(text ==
        "# libdtrain's algorithms for 4 rank(s) on 2 host(s)\n"
        "# operation        bytes of count         algorithm\n"
        "all_reduce         up to 16384            tree\n"
        "all_reduce         up to 2097152          ring\n"
        "all_reduce         above 2097152          hierarchical\n"
        "broadcast          any                    shm\n");
}

}  // namespace
}  // namespace dt
