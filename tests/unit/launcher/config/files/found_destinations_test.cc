#include "launcher/config/files/found_destinations.h"

#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("destinations in a found file are named where they count") {
  OptionSource file = {.values = {{"np", {"1"}},
                                  {"hosts", {"a:4"}},
                                  {"chdir", {"/elsewhere"}},
                                  {"role", {"ps=1@b", "worker=2"}},
                                  {"report", {"r"}},
                                  {"output-dir", {"o"}},
                                  {"timeline-filename", {"t"}}},
                       .origins = {}};
  using Names = std::vector<std::string>;
  CHECK(found_destinations({file}) == Names());
  file.found = true;
  CHECK(found_destinations({file}) ==
        Names{"hosts", "role", "chdir", "output-dir", "report", "timeline-filename"});
  CHECK(found_destinations({flags({{"hostfile", {"h"}}, {"report", {"mine"}}}), file}) ==
        Names{"role", "chdir", "output-dir", "timeline-filename"});
  file.values = {{"role", {"ps=1", "worker=2"}}, {"grace", {"1"}}};
  CHECK(found_destinations({file}) == Names());
  file.values = {{"cluster-spec", {"worker|h:1"}}};
  CHECK(found_destinations({file}) == Names{"cluster-spec"});
}

}  // namespace
}  // namespace dt
