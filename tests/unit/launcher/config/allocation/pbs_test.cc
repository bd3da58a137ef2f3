#include "launcher/config/allocation/pbs.h"

#include "tests/unit/launcher/config/allocation/shown_allocation.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const Files files = {{"/slots", "a\na\n\nb\nb\n"},
                     {"/hosts", "\na\nb\n"},
                     {"/uneven", "a\na\nb\n"},
                     {"/wrong", "a\nb c\n"},
                     {"/empty", ""}};

std::string read(Environment environment) {
  environment["PBS_JOBID"] = "12.server";
  return shown(read_pbs({environment, reader_of(files)}));
}

TEST_CASE("read_pbs: the file has a line for each slot, or one for each host and PBS_PPN") {
  const AllocationCase cases[] = {
      {{{"PBS_NODEFILE", "/slots"}}, "PBS job 12.server: a:2 b:2"},
      {{{"PBS_NODEFILE", "/hosts"}}, "PBS job 12.server: a:1 b:1"},
      {{{"PBS_NODEFILE", "/hosts"}, {"PBS_PPN", "4"}}, "PBS job 12.server: a:4 b:4"},
      {{{"PBS_NODEFILE", "/slots"}, {"PBS_PPN", "2"}}, "PBS job 12.server: a:2 b:2"},
      {{{"PBS_NODEFILE", "/uneven"}, {"PBS_PPN", "2"}}, "PBS job 12.server: a:2 b:1"},
  };
  for (const AllocationCase& c : cases) {
    CAPTURE(c.shown);
    CHECK(read(c.environment) == c.shown);
  }
}

TEST_CASE("read_pbs: wrong variables and files are refused by name and value") {
  const AllocationCase cases[] = {
      {{}, "PBS_NODEFILE is not set, as the scheduler sets it for its jobs"},
      {{{"PBS_NODEFILE", "/none"}},
       "PBS_NODEFILE=/none: cannot read this file: No such file or directory"},
      {{{"PBS_NODEFILE", "/empty"}},
       "PBS_NODEFILE=/empty: this file is empty, but should name the job's hosts"},
      {{{"PBS_NODEFILE", "/wrong"}},
       "PBS_NODEFILE=/wrong:2:3: expected one host on the line, got \"c\" behind it"},
      {{{"PBS_NODEFILE", "/hosts"}, {"PBS_PPN", "many"}}, "PBS_PPN=many: expected 1..4096"},
  };
  for (const AllocationCase& c : cases) {
    CAPTURE(c.shown);
    CHECK(read(c.environment) == c.shown);
  }
}

}  // namespace
}  // namespace dt
