#include "launcher/config/hosts/hosts.h"
#include "tests/unit/launcher/config/hosts/shown_hosts.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using namespace std::string_literals;

TEST_CASE("B18, B21: a hostfile has comments, blank lines, CRLF, tabs, a BOM, or no last newline") {
  const HostsCase cases[] = {
      {"a slots=2\nb slots=4\n", "a:2 b:4"},
      {"a slots=2\nb slots=4", "a:2 b:4"},
      {"# all\n\n  \na slots=2 # fast\n\t b\tslots=1\n", "a:2 b:1"},
      {"\xEF\xBB\xBF"
       "a slots=2\r\nb\r\n",
       "a:2 b"},
      {"me@[::1] slots=3\n", "me@[::1]:3"},
      {"a:2\n", "a:2"},
      {"a slots=1\na slots=1\n", "a:2 | hosts: host \"a\" given twice; merged to 2 slots"},
  };
  for (const HostsCase& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_hostfile(c.text, "hosts")) == c.shown);
  }
}

TEST_CASE("B19: hostfiles of Horovod, Open MPI, MPICH and DeepSpeed are read as they are") {
  const HostsCase cases[] = {
      {"a slots=2\nb slots=4\n", "a:2 b:4"},
      {"a slots=2 max_slots=4\nb slots=1 max-slots=1\nc\n", "a:2/4 b:1/1 c"},
      {"a slots-max=4\nme@b max_slots=2 slots=2\n", "a/4 me@b:2/2"},
      {"a:2\nb:4 # second\nc\n", "a:2 b:4 c"},
      {"a:2 ifhn=a-ib0\n", "a:2 | hosts:1:5: ifhn is ignored; this version chooses no network"},
      {"a:2 user=me\nb slots=1 username=you\n", "me@a:2 you@b:1"},
      {"a slots = 2\nb cpu=3\nc count= 4 max_slots =5\nd user_name=you slots =1\n",
       "a:2 b:3 c:4/5 you@d:1"},
      {"a slots=2\nb\na\n", "a:3 b | hosts: host \"a\" given twice; merged to 3 slots"},
      {"worker-0 slots=8\nworker-1 slots=8\n", "worker-0:8 worker-1:8"},
      {"n[08-10] slots=2 max_slots=3\n", "n08:2/3 n09:2/3 n10:2/3"},
      {"a slots=1 max_slots=2\na slots=1 max_slots=3\n",
       "a:2/5 | hosts: host \"a\" given twice; merged to 2 slots"},
      {"a slots=1 max_slots=2\na slots=1\n",
       "hosts:2:1: host \"a\" is given twice, but not always with max_slots; write it once"},
  };
  for (const HostsCase& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_hostfile(c.text, "hosts")) == c.shown);
  }
}

TEST_CASE("B19, B20, B22, B23: a hostfile's faults are named with line and column") {
  const HostsCase cases[] = {
      {"", "hosts: no hosts in this file; expected lines such as: node1 slots=4"},
      {"# none\n\n", "hosts: no hosts in this file; expected lines such as: node1 slots=4"},
      {"x\ny\na slots=two\n", "hosts:3:9: host \"a\": slots must be 1..4096, got \"two\""},
      {"a slots=0\n", "hosts:1:9: host \"a\": slots must be 1..4096, got 0"},
      {"a slots = x\n", "hosts:1:11: host \"a\": slots must be 1..4096, got \"x\""},
      {"a = 2\n", "hosts:1:3: expected slots=N or max_slots=N, got \"= 2\""},
      {"a slots=\n", "hosts:1:9: host \"a\": slots must be 1..4096, got \"\""},
      {"a slots\n", "hosts:1:3: expected slots=N or max_slots=N, got \"slots\""},
      {"a slots=2 rack=4\n", "hosts:1:11: expected slots=N or max_slots=N, got \"rack=4\""},
      {"a slots=2 max_slots=x\n", "hosts:1:21: host \"a\": max_slots must be 1..4096, got \"x\""},
      {"a slots=4 max_slots=2\n", "hosts:1:1: host \"a\" has 4 slots, but max_slots=2"},
      {"a user=x;y\n", "hosts:1:9: invalid character \";\" (0x3B) in user name"},
      {"u@a user=v\n", "hosts:1:5: the user is given twice on this line"},
      {"a\n@more\n", "hosts:2:1: a hostfile cannot name another; give both: -H @FILE,@FILE"},
      {"n[1-2\n", "hosts:1:2: missing \"]\" in \"n[1-2\" (column 2)"},
      {"a:1 slots=2\n", "hosts:1:5: slots are given twice on this line"},
      {"ok\n  a;id\n", "hosts:2:4: invalid character \";\" (0x3B) in host name (in \"a;id\")"},
      {"a\n[::1\n", "hosts:2:1: missing \"]\" in \"[::1\" (column 1)"},
      {"a\nb slots=1\n\0"s, "hosts:3: not a text file (byte 0x00 at offset 12)"},
      {"\x7f"
       "ELF\x02",
       "hosts:1: not a text file (byte 0x02 at offset 4)"},
  };
  for (const HostsCase& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_hostfile(c.text, "hosts")) == c.shown);
  }
}

}  // namespace
}  // namespace dt
