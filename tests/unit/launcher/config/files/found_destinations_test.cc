#include "launcher/config/files/found_destinations.h"

#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Names = std::vector<std::string>;

Names names_found(const OptionSources& sources) {
  Names names;
  for (const DecidedOption& decided : found_destinations(sources))
    names.emplace_back(decided.option->name);
  return names;
}

TEST_CASE("destinations in a found file are named where they count") {
  OptionSource file = {.values = {{"np", {"1"}},
                                  {"hosts", {"a:4"}},
                                  {"chdir", {"/elsewhere"}},
                                  {"role", {"ps=1@b", "worker=2"}},
                                  {"report", {"r"}},
                                  {"output-dir", {"o"}},
                                  {"timeline-filename", {"t"}}},
                       .origins = {}};
  CHECK(names_found({file}) == Names());
  file.found = true;
  CHECK(names_found({file}) ==
        Names{"hosts", "role", "chdir", "output-dir", "report", "timeline-filename"});
  CHECK(names_found({flags({{"hostfile", {"h"}}, {"report", {"mine"}}}), file}) ==
        Names{"role", "chdir", "output-dir", "timeline-filename"});
  file.values = {{"role", {"ps=1", "worker=2"}}, {"grace", {"1"}}};
  CHECK(names_found({file}) == Names());
  file.values = {{"cluster-spec", {"worker|h:1"}}};
  CHECK(names_found({file}) == Names{"cluster-spec"});
}

}  // namespace
}  // namespace dt
