#include "launcher/config/hosts/host_merger.h"

#include "tests/unit/launcher/config/hosts/shown_hosts.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("B6: a host given again adds its slots, with a warning") {
  const HostsCase cases[] = {
      {"a:2,a:2", "a:4 | -H: host \"a\" given twice; merged to 4 slots"},
      {"a:2,b:1,A:3", "a:5 b:1 | -H: host \"a\" given twice; merged to 5 slots"},
      {"a:1,a:1,a:1", "a:3 | -H: host \"a\" given 3 times; merged to 3 slots"},
      {"[::1]:2,[0:0::1]:1", "[::1]:3 | -H: host \"::1\" given twice; merged to 3 slots"},
      {"a:4096,a:1", "-H: host \"a\": slots must be 1..4096, got 4097 in all"},
      {"a,a", "a:2 | -H: host \"a\" given twice; merged to 2 slots"},
      {"a:1,b:1,c:1,d:1,e:1,a:1,b:1,c:1,d:1,e:1",
       "a:2 b:2 c:2 d:2 e:2 | -H: host \"a\" given twice; merged to 2 slots"
       " | -H: host \"b\" given twice; merged to 2 slots"
       " | -H: host \"c\" given twice; merged to 2 slots | -H: and 2 more such warnings"},
      {"a,A,a", "a:3 | -H: host \"a\" given 3 times; merged to 3 slots"},
      {"a,a,a:2", "a:4 | -H: host \"a\" given 3 times; merged to 4 slots"},
      {"a:2,a,a", "a:4 | -H: host \"a\" given 3 times; merged to 4 slots"},
      {"a,a:2", "a:3 | -H: host \"a\" given twice; merged to 3 slots"},
      {"u@a:1,v@a:1",
       "-H: host \"a\" is given with user \"u\" and with user \"v\"; use one of them"},
  };
  for (const HostsCase& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

TEST_CASE("repeats are bounded: a host's, and all of a file's") {
  std::string text;
  for (int i = 0; i < slots_max; ++i)
    text += "a\n";
  CHECK(shown(parse_hostfile(text, "hosts")) ==
        "a:4096 | hosts: host \"a\" given 4096 times; merged to 4096 slots");
  CHECK(shown(parse_hostfile(text + "a\n", "hosts")) ==
        "hosts:4097:1: host \"a\" is given more than 4096 times");
  std::string ranges;
  for (int i = 0; i < 17; ++i)
    ranges += "n[1-65536]\n";
  CHECK(shown(parse_hostfile(ranges, "hosts")) == "hosts:17:1: more than 1048576 hosts named");
}

}  // namespace
}  // namespace dt
