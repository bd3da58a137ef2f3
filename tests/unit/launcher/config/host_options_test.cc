#include "base/format.h"
#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE(
    "hosts and hostfile are one choice: the higher source decides, in one source they conflict") {
  const OptionSource file = flags({{"hostfile", {"hosts"}}});
  const OptionSource list = flags({{"hosts", {"c:1"}}});
  CHECK(decide({list, file}).value().hosts == std::vector<Host>{{.name = "c", .slots = 1}});
  CHECK(decide({file, list}).value().hosts.size() == 2);
  CHECK(error_of(decide({flags({{"hosts", {"c:1"}}, {"hostfile", {"hosts"}}})})) ==
        "-H: conflicts with --hostfile; give one of them");
}

TEST_CASE("warnings of the host list reach the configuration") {
  const RunConfig config = decide({flags({{"hosts", {"a:1,a:1"}}})}).value();
  CHECK(config.warnings ==
        std::vector<std::string>{"-H: host \"a\" given twice; merged to 2 slots"});
}

TEST_CASE("networks are given with commas, again and again, or as a list in a file") {
  const RunConfig config =
      decide({flags({{"np", {"1"}}, {"network-interfaces", {"eth0, ib0", "10.0.0.0/8"}}})}).value();
  CHECK(config.networks == std::vector<std::string>{"eth0", "ib0", "10.0.0.0/8"});
  for (const char* wrong : {"", "eth0,", "10.0.0.0/33", "a/b", "eth 0"}) {
    CAPTURE(wrong);
    CHECK(error_of(decide({flags({{"np", {"1"}}, {"network-interfaces", {wrong}}})})) ==
          format("--network-interfaces: expected interfaces or networks, for example eth0 or "
                 "10.0.0.0/8, got \"{}\"",
                 wrong));
  }
}

TEST_CASE("options for reaching hosts set their members") {
  CHECK(decide({flags({{"np", {"1"}},
                       {"ssh", {"openssh"}},
                       {"ssh-port", {"2222"}},
                       {"ssh-identity-file", {"key"}},
                       {"ssh-config", {"cfg"}},
                       {"ssh-parallel", {"7"}},
                       {"connect-timeout", {"3s"}}})})
            .value()
            .ssh == LoginOptions{.implementation = SshImplementation::openssh,
                                 .port = 2222,
                                 .identity = "key",
                                 .config = "cfg",
                                 .parallel = 7,
                                 .connect_timeout = seconds(3)});
  CHECK(decide({flags({{"np", {"1"}}, {"ssh", {"libssh2"}}})}).value().ssh.implementation ==
        SshImplementation::libssh2);
  CHECK(decide({flags({{"np", {"1"}}, {"rsh-agent", {"qrsh  -inherit"}}})}).value().ssh ==
        LoginOptions{.program = {"qrsh", "-inherit"}});
}

TEST_CASE("B17: invalid hosts and options for reaching them are refused") {
  const Refusal cases[] = {
      {{{"hosts", {"a:0"}}}, "-H: host \"a\": slots must be 1..4096, got 0"},
      {{{"hosts", {"a:1", "b:x"}}}, "-H: host \"b\": slots must be 1..4096, got \"x\""},
      {{{"hostfile", {"none"}}}, "--hostfile: cannot read \"none\": No such file or directory"},
      {{{"hostfile", {""}}}, "--hostfile: expected a file, got \"\""},
      {{{"hostfile", {"empty"}}},
       "empty: no hosts in this file; expected lines such as: node1 slots=4"},
      {{{"np", {"1"}}, {"ssh", {"rsh"}}}, "--ssh: expected auto, libssh2 or openssh, got \"rsh\""},
      {{{"np", {"1"}}, {"ssh-parallel", {"0"}}}, "--ssh-parallel: expected 1..65536, got 0"},
      {{{"np", {"1"}}, {"rsh-agent", {" "}}}, "--rsh-agent: expected a program, got \" \""},
      {{{"np", {"1"}}, {"rsh-agent", {"rsh"}}, {"ssh-port", {"22"}}},
       "-p: conflicts with --rsh-agent; give one of them"},
  };
  expect_refused(cases);
}

}  // namespace
}  // namespace dt
