#include "launcher/config/allocation/lsf.h"

#include "tests/unit/launcher/config/allocation/shown_allocation.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const Files files = {{"/lsf", "a\na\n\nb\r\na\n"}, {"/empty", " \n"}, {"/pairs", "a 2\n"}};

std::string read(Environment environment) {
  environment["LSB_JOBID"] = "7";
  return shown(read_lsf({environment, reader_of(files)}));
}

TEST_CASE("read_lsf: the hostfile comes before the pairs, and these before the words") {
  Environment all = {
      {"LSB_DJOB_HOSTFILE", "/lsf"}, {"LSB_MCPU_HOSTS", "c 4 d 2"}, {"LSB_HOSTS", "e f e"}};
  CHECK(read(all) == "LSF job 7: a:3 b:1");
  all.erase("LSB_DJOB_HOSTFILE");
  CHECK(read(all) == "LSF job 7: c:4 d:2");
  all.erase("LSB_MCPU_HOSTS");
  CHECK(read(all) == "LSF job 7: e:2 f:1");
}

TEST_CASE("read_lsf: wrong variables and files are refused by name and value") {
  const AllocationCase cases[] = {
      {{},
       "this LSF job has none of LSB_DJOB_HOSTFILE, LSB_MCPU_HOSTS and LSB_HOSTS, which name its "
       "hosts"},
      {{{"LSB_DJOB_HOSTFILE", "/none"}},
       "LSB_DJOB_HOSTFILE=/none: cannot read this file: No such file or directory"},
      {{{"LSB_DJOB_HOSTFILE", "/empty"}},
       "LSB_DJOB_HOSTFILE=/empty: this file is empty, but should name the job's hosts"},
      {{{"LSB_DJOB_HOSTFILE", "/pairs"}},
       "LSB_DJOB_HOSTFILE=/pairs:1:3: expected one host on the line, got \"2\" behind it"},
      {{{"LSB_MCPU_HOSTS", "a 4 b"}},
       "LSB_MCPU_HOSTS=a 4 b: expected pairs of a host and its slots, such as a 4 b 2"},
      {{{"LSB_MCPU_HOSTS", " "}},
       "LSB_MCPU_HOSTS= : expected pairs of a host and its slots, such as a 4 b 2"},
      {{{"LSB_MCPU_HOSTS", "a 0"}}, "LSB_MCPU_HOSTS=a 0: host \"a\": slots must be 1..4096, got 0"},
      {{{"LSB_MCPU_HOSTS", "a 4 a 2"}},
       "LSB_MCPU_HOSTS=a 4 a 2: host \"a\" is given with 4 slots and with 2"},
      {{{"LSB_HOSTS", "a -b"}}, "LSB_HOSTS=a -b: host name may not start with \"-\" (in \"-b\")"},
      {{{"LSB_HOSTS", " "}}, "LSB_HOSTS= : names no host"},
  };
  for (const AllocationCase& c : cases) {
    CAPTURE(c.shown);
    CHECK(read(c.environment) == c.shown);
  }
}

}  // namespace
}  // namespace dt
