#include "launcher/config/hosts/host_range.h"

#include "tests/unit/launcher/config/hosts/shown_hosts.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("ranges in brackets stand for a host each") {
  const HostsCase cases[] = {
      {"node[1-3]:8", "node1:8 node2:8 node3:8"},
      {"node[08-11]", "node08 node09 node10 node11"},
      {"me@n[1-2,7]:4,x", "me@n1:4 me@n2:4 me@n7:4 x"},
      {"r[1-2]n[1-2].example.org",
       "r1n1.example.org r1n2.example.org r2n1.example.org "
       "r2n2.example.org"},
      {"10.0.0.[1-2]:2", "10.0.0.1:2 10.0.0.2:2"},
      {"[1-2]a", "1a 2a"},
      {"n[5]", "n5"},
      {"n[1-2],n[2-3]", "n1 n2:2 n3 | -H: host \"n2\" given twice; merged to 2 slots"},
      {"n[3-1]", "-H: expected numbers in brackets, such as [01-16] or [1-3,7], got \"3-1\""},
      {"n[]", "-H: expected numbers in brackets, such as [01-16] or [1-3,7], got \"\""},
      {"n[a-b]", "-H: expected numbers in brackets, such as [01-16] or [1-3,7], got \"a-b\""},
      {"n[1-2-3]", "-H: expected numbers in brackets, such as [01-16] or [1-3,7], got \"1-2-3\""},
      {"n[-1]", "-H: expected numbers in brackets, such as [01-16] or [1-3,7], got \"-1\""},
      {"n[1-9999999999]",
       "-H: expected numbers in brackets, such as [01-16] or [1-3,7], got \"1-9999999999\""},
      {"n[1-2", "-H: missing \"]\" in \"n[1-2\" (column 2)"},
      {"n1]", "-H: invalid character \"]\" (0x5D) in host name (in \"n1]\")"},
      {"n[1-65537]", "-H: \"n[1-65537]\" stands for more than 65536 hosts"},
      {"n[1-1000]m[1-1000]", "-H: \"n[1-1000]m[1-1000]\" stands for more than 65536 hosts"},
      {"[1-2]", "-H: \"1\" is neither a host name nor an IPv4 address (in \"[1-2]\")"},
      {"10.0.0.[255-256]",
       "-H: \"10.0.0.256\" is neither a host name nor an IPv4 address (in \"10.0.0.[255-256]\")"},
  };
  for (const HostsCase& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

TEST_CASE("compress_names: the list is short, and expands to the same names") {
  using Names = std::vector<std::string>;
  const std::pair<Names, const char*> cases[] = {
      {{"n1", "n2", "n3"}, "n[1-3]"},
      {{"n1", "n3", "n4", "m5"}, "n[1,3-4],m5"},
      {{"n9", "n10", "n11"}, "n[9-11]"},
      {{"n08", "n09", "n10"}, "n[08-10]"},
      {{"n08", "n9"}, "n[08,9]"},
      {{"n099", "n100", "n0101"}, "n[099-100,0101]"},
      {{"n2", "n1"}, "n[2,1]"},
      {{"n1.lan", "n2.lan", "n3.org"}, "n[1-2].lan,n3.org"},
      {{"10.0.0.1", "10.0.0.2"}, "10.0.0.[1-2]"},
      {{"a", "b", "a"}, "a,b,a"},
      {{"n1", "n1"}, "n[1,1]"},
      {{"n9999999999", "n9999999998"}, "n9999999999,n9999999998"},
      {{"7", "8"}, "[7-8]"},
      {{}, ""},
  };
  for (const auto& [names, shown] : cases) {
    CAPTURE(shown);
    CHECK(compress_names(names) == shown);
    Names again;
    for (const std::string_view entry : split_at_commas(shown)) {
      const auto expanded = expand_ranges(entry, SourceLocation("x", shown)).value();
      if (!entry.empty()) again.insert(again.end(), expanded.begin(), expanded.end());
    }
    CHECK(again == names);
  }
}

}  // namespace
}  // namespace dt
