#include "base/format.h"
#include "launcher/hosts.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using namespace std::string_literals;

/// What a person would see: the hosts, or the error.
std::string shown(const Result<HostList>& list) {
  if (!list) return list.error().message;
  std::string all;
  for (const Host& host : list->hosts)
    all += (all.empty() ? "" : " ") + host.text();
  for (const std::string& warning : list->warnings)
    all += " | " + warning;
  return all;
}

struct Case {
  std::string text;
  std::string shown;
};

TEST_CASE("-H takes [user@]host[:slots], bracketed IPv6 and addresses, in the order given") {
  const Case cases[] = {
      {"a", "a"},
      {"a:4,b:2", "a:4 b:2"},
      {"b,a", "b a"},
      {"server1:4096", "server1:4096"},
      {"10.0.0.1:2", "10.0.0.1:2"},
      {"[::1]:4", "[::1]:4"},
      {"[fe80::1%eth0]", "[fe80::1%eth0]"},
      {"me@node-1.example.org:8", "me@node-1.example.org:8"},
      {"me@[2001:db8::2]:8", "me@[2001:db8::2]:8"},
      {"node_1.example.org.:1", "node_1.example.org.:1"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

TEST_CASE("B1-B5: an empty list, an empty entry or bad slots are refused with their place") {
  const Case cases[] = {
      {"", "-H: empty host list; expected HOST[:SLOTS],… for example node1:4,node2:4"},
      {"  ", "-H: empty host list; expected HOST[:SLOTS],… for example node1:4,node2:4"},
      {"a:4,", "-H: empty entry at position 2 (after \"a:4,\")"},
      {"a:4,,b:4", "-H: empty entry at position 2 (after \"a:4,\")"},
      {",a:4", "-H: empty entry at position 1"},
      {"a:0", "-H: host \"a\": slots must be 1..4096, got 0"},
      {"a:-1", "-H: host \"a\": slots must be 1..4096, got \"-1\""},
      {"a:4x", "-H: host \"a\": slots must be 1..4096, got \"4x\""},
      {"a:1.5", "-H: host \"a\": slots must be 1..4096, got \"1.5\""},
      {"a: 4", "-H: host \"a\": slots must be 1..4096, got \" 4\""},
      {"a:", "-H: host \"a\": slots must be 1..4096, got \"\""},
      {"a:4:4", "-H: host \"a\": slots must be 1..4096, got \"4:4\""},
      {"a:4097", "-H: host \"a\": slots must be 1..4096, got 4097"},
      {"a:99999999999", "-H: host \"a\": slots must be 1..4096, got 99999999999"},
      {"a:99999999999999999999999",
       "-H: host \"a\": slots must be 1..4096, got 99999999999999999999999"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

TEST_CASE("B6: a host given again adds its slots, with a warning") {
  const Case cases[] = {
      {"a:2,a:2", "a:4 | -H: host \"a\" given twice; merged to 4 slots"},
      {"a:2,b:1,A:3", "a:5 b:1 | -H: host \"a\" given twice; merged to 5 slots"},
      {"a:1,a:1,a:1", "a:3 | -H: host \"a\" given 3 times; merged to 3 slots"},
      {"[::1]:2,[0:0::1]:1", "[::1]:3 | -H: host \"::1\" given twice; merged to 3 slots"},
      {"a:4096,a:1", "-H: host \"a\": slots must be 1..4096, got 4097 in all"},
      {"a,a:2", "-H: host \"a\" is given twice, but not always with slots; write a:N once"},
      {"u@a:1,v@a:1",
       "-H: host \"a\" is given with user \"u\" and with user \"v\"; use one of them"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

TEST_CASE("B7, B8: IPv6 needs its brackets, both of them") {
  const Case cases[] = {
      {"::1:2", "-H: IPv6 literals need brackets: [::1]:2"},
      {"::1", "-H: IPv6 literals need brackets: [::1]"},
      {"a:1,fe80::2:4", "-H: IPv6 literals need brackets: [fe80::2]:4"},
      {"[::1:2", "-H: missing \"]\" in \"[::1:2\" (column 1)"},
      {"a:4,[::1", "-H: missing \"]\" in \"[::1\" (column 5)"},
      {"[a]:4", "-H: \"a\" is not an IPv6 address; brackets are for those"},
      {"[::1]4", "-H: expected \":slots\" after \"]\", got \"4\""},
      {"[::1]:x", "-H: host \"::1\": slots must be 1..4096, got \"x\""},
      {"[::1%;]", "-H: \"::1%;\" is not an IPv6 address; brackets are for those"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

TEST_CASE("B9-B11: a name that a program or a shell could misread is refused, its fault named") {
  const std::string label(64, 'x');
  const std::string name = std::string(63, 'a') + "." + std::string(63, 'b') + "." +
                           std::string(63, 'c') + "." + std::string(62, 'd');
  const Case cases[] = {
      {"-oProxyCommand=x:1", "-H: host name may not start with \"-\" (in \"-oProxyCommand=x:1\")"},
      {"-F:1", "-H: host name may not start with \"-\" (in \"-F:1\")"},
      {"-l@a:1", "-H: user name may not start with \"-\""},
      {"a;id:2", "-H: invalid character \";\" (0x3B) in host name (in \"a;id:2\")"},
      {"$(id)", "-H: invalid character \"$\" (0x24) in host name (in \"$(id)\")"},
      {"a\nb", "-H: invalid character \"\\x0A\" (0x0A) in host name (in \"a\\x0Ab\")"},
      {"a\0b"s, "-H: invalid character \"\\x00\" (0x00) in host name (in \"a\\x00b\")"},
      {"a b", "-H: invalid character \" \" (0x20) in host name (in \"a b\")"},
      {"'a'", "-H: invalid character \"'\" (0x27) in host name (in \"'a'\")"},
      {"ä",
       "-H: invalid character \"ä\" (0xC3 0xA4) in host name; write international names as xn--…"
       " (in \"ä\")"},
      {"\xff",
       "-H: invalid character \"\\xFF\" (0xFF) in host name; write international names as xn--…"
       " (in \"\\xFF\")"},
      {"a b@c", "-H: invalid character \" \" (0x20) in user name"},
      {"@a", "-H: user name is missing before \"@\""},
      {"me@:4", "-H: host name is missing (in \"me@:4\")"},
      {":4", "-H: host name is missing (in \":4\")"},
      {"a..b", "-H: host name has an empty label (in \"a..b\")"},
      {"4", "-H: \"4\" is neither a host name nor an IPv4 address (in \"4\")"},
      {"10.0.0.300:1",
       "-H: \"10.0.0.300\" is neither a host name nor an IPv4 address (in \"10.0.0.300:1\")"},
      {label, "-H: a label of the host name has 64 characters, at most 63 are allowed (in \"" +
                  label + "\")"},
      {name, "-H: host name has 254 characters, at most 253 are allowed (in \"" +
                 name.substr(0, 120) + "…\")"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

TEST_CASE("B18, B21: a hostfile has comments, blank lines, CRLF, tabs, a BOM, or no last newline") {
  const Case cases[] = {
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
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_hostfile(c.text, "hosts")) == c.shown);
  }
}

TEST_CASE("B19, B20, B22, B23: a hostfile's faults are named with line and column") {
  const Case cases[] = {
      {"", "hosts: no hosts in this file; expected lines such as: node1 slots=4"},
      {"# none\n\n", "hosts: no hosts in this file; expected lines such as: node1 slots=4"},
      {"x\ny\na slots=two\n", "hosts:3:9: host \"a\": slots must be 1..4096, got \"two\""},
      {"a slots=0\n", "hosts:1:9: host \"a\": slots must be 1..4096, got 0"},
      {"a slots=\n", "hosts:1:9: host \"a\": slots must be 1..4096, got \"\""},
      {"a slots\n", "hosts:1:3: expected slots=N, got \"slots\""},
      {"a slots=2 max_slots=4\n", "hosts:1:11: expected slots=N, got \"max_slots=4\""},
      {"a:1 slots=2\n", "hosts:1:5: slots are given twice on this line"},
      {"ok\n  a;id\n", "hosts:2:4: invalid character \";\" (0x3B) in host name (in \"a;id\")"},
      {"a\n[::1\n", "hosts:2:1: missing \"]\" in \"[::1\" (column 1)"},
      {"a\nb slots=1\na\n",
       "hosts:3:1: host \"a\" is given twice, but not always with slots; write a:N once"},
      {"a\nb slots=1\n\0"s, "hosts:3: not a text file (byte 0x00 at offset 12)"},
      {"\x7f"
       "ELF\x02",
       "hosts:1: not a text file (byte 0x02 at offset 4)"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_hostfile(c.text, "hosts")) == c.shown);
  }
}

TEST_CASE("a list of more hosts than a job can have is refused") {
  std::string text;
  for (size_t i = 0; i <= hosts_max; ++i)
    text += format("n{}\n", i);
  CHECK(shown(parse_hostfile(text, "hosts")) == "hosts:65537:1: more than 65536 hosts");
}

TEST_CASE("local are localhost, this machine's names and its addresses") {
  const std::vector<std::string> own = {"box", "box.example.org", "10.0.0.5", "fe80::1",
                                        "127.0.0.2"};
  for (const char* name : {"localhost", "LOCALHOST", "127.0.0.1", "::1", "0:0::1", "box", "Box",
                           "box.example.org.", "10.0.0.5", "FE80::0:1"}) {
    CAPTURE(name);
    CHECK(is_local({.name = name}, own));
  }
  for (const char* name : {"other", "127.0.0.2", "10.0.0.6", "box.example", "fe80::2"}) {
    CAPTURE(name);
    CHECK(!is_local({.name = name}, own));
  }
  CHECK(!is_local({.name = "localhost", .user = "me"}, own));
}

}  // namespace
}  // namespace dt
