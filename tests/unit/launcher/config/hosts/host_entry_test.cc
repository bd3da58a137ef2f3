#include "launcher/config/hosts/host_entry.h"

#include "tests/unit/launcher/config/hosts/shown_hosts.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using namespace std::string_literals;

TEST_CASE("-H takes [user@]host[:slots], bracketed IPv6 and addresses, in the order given") {
  const HostsCase cases[] = {
      {"a", "a"},
      {"a:4,b:2", "a:4 b:2"},
      {"b,a", "b a"},
      {"server1:4096",
       "server1:4096 | -H: \"server1:4096\" offers 4096 slots; the port of sshd is given by -p "
       "PORT"},
      {"server1:1023", "server1:1023"},
      {"10.0.0.1:2", "10.0.0.1:2"},
      {"[::1]:4", "[::1]:4"},
      {"[fe80::1%eth0]", "[fe80::1%eth0]"},
      {"me@node-1.example.org:8", "me@node-1.example.org:8"},
      {"me@[2001:db8::2]:8", "me@[2001:db8::2]:8"},
      {"node_1.example.org.:1", "node_1.example.org.:1"},
  };
  for (const HostsCase& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

TEST_CASE("B7, B8: IPv6 needs its brackets, both of them") {
  const HostsCase cases[] = {
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
  for (const HostsCase& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

TEST_CASE("B9-B11: a name that a program or a shell could misread is refused, its fault named") {
  const std::string label(64, 'x');
  const std::string name = std::string(63, 'a') + "." + std::string(63, 'b') + "." +
                           std::string(63, 'c') + "." + std::string(62, 'd');
  const HostsCase cases[] = {
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
      {"@", "-H: expected a hostfile behind \"@\": @FILE"},
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
  for (const HostsCase& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

}  // namespace
}  // namespace dt
