#include "launcher/config/hosts/hosts.h"

#include "tests/unit/launcher/config/hosts/shown_hosts.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using namespace std::string_literals;

TEST_CASE("B1-B5: an empty list, an empty entry or bad slots are refused with their place") {
  const HostsCase cases[] = {
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
  for (const HostsCase& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H")) == c.shown);
  }
}

TEST_CASE("blanks around the hosts of a list do not count") {
  CHECK(shown(parse_host_list("node1:1, node2:1", "-H")) == "node1:1 node2:1");
  CHECK(shown(parse_host_list(" a , u@b:2\t", "-H")) == "a u@b:2");
  CHECK(shown(parse_host_list("a:4, ,b:4", "-H")) ==
        "-H: empty entry at position 2 (after \"a:4,\")");
}

TEST_CASE("@FILE in a list stands for the hosts of a hostfile") {
  const TextReader files = [](const std::string& path) -> Result<std::string> {
    if (path == "rack1") return "a slots=2 max_slots=4\nb:1\n"s;
    if (path == "broken") return "a\nb slots=x\n"s;
    return fail(Errc::os, "No such file or directory");
  };
  const HostsCase cases[] = {
      {"@rack1", "a:2/4 b:1"},
      {"c:3,@rack1,d", "c:3 a:2/4 b:1 d"},
      {"@rack1,b:2", "a:2/4 b:3 | -H: host \"b\" given twice; merged to 3 slots"},
      {"@broken", "broken:2:9: host \"b\": slots must be 1..4096, got \"x\""},
      {"@gone", "-H: cannot read \"gone\": No such file or directory"},
  };
  for (const HostsCase& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(parse_host_list(c.text, "-H", files)) == c.shown);
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
