#include "launcher/agent/preparation.h"

#include "base/format.h"
#include "base/io/socket.h"
#include "launcher/agent/local_host.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::vector<std::pair<MessageType, Bytes>> sent;
  Preparation preparation{*loop, [this](MessageType type, ByteSpan payload) {
                            sent.emplace_back(type, Bytes(payload.begin(), payload.end()));
                          }};

  /// Prepares `wanted` for the command `true` in "/", where it has neither.
  Prepared prepare(Prepare wanted) {
    if (wanted.command.empty() && wanted.role_commands.empty()) wanted.command = {"true"};
    if (wanted.cwd.empty()) wanted.cwd = "/";
    wanted.path = "/usr/bin:/bin";
    return preparation.prepare(std::move(wanted));
  }
  Prepared prepare_command(std::vector<std::string> command) {
    Prepare wanted;
    wanted.command = std::move(command);
    return prepare(std::move(wanted));
  }
  Prepared prepare_in(std::string folder, bool home_instead) {
    Prepare wanted;
    wanted.cwd = std::move(folder);
    wanted.home_instead = home_instead;
    return prepare(std::move(wanted));
  }
};

const std::string token(64, 'a');

/// Returns a range of so many successive ports that are free now.
PortRange free_range(int count) {
  std::random_device random;
  for (;;) {
    const auto first = static_cast<uint16_t>(10'000 + random() % 20'000);
    const PortRange range = {first, static_cast<uint16_t>(first + count - 1)};
    if (hold_ports(count, range)) return range;
  }
}

TEST_CASE_FIXTURE(Fixture, "Preparation: B30, B31 are known before anything starts") {
  CHECK(prepare_command({"no-such-command"}).status == 127);
  CHECK(prepare_command({"/etc/passwd"}).status == 126);
  const Prepared folder = prepare_in("/no/such folder", false);
  CHECK(folder.status == 2);
  CHECK(folder.failure ==
        "cannot enter the working directory '/no/such folder': No such file or directory "
        "(use --chdir)");
}

TEST_CASE_FIXTURE(Fixture, "Preparation uses the home instead of a folder that it cannot enter") {
  const std::string home = local_host_environment()["HOME"];
  REQUIRE(access(home.c_str(), X_OK) == 0);
  for (const char* folder : {"/no/such folder", "/etc/passwd"}) {
    const Prepared prepared = prepare_in(folder, true);
    CHECK(prepared.failure.empty());
    CHECK(prepared.home == home);
    CHECK(preparation.programs().cwd == home);
  }
  CHECK(prepare_in("/", true).home.empty());
}

TEST_CASE_FIXTURE(Fixture, "Preparation finds the program of each role, or names the role") {
  Prepare wanted;
  wanted.command = {"true"};
  wanted.role_commands = {{.role = "ps", .words = {"sh", "-c", "x"}, .path = "/bin"}};
  CHECK(prepare(wanted).failure.empty());
  const LocalTasks::Programs& programs = preparation.programs();
  CHECK(programs.common.executable.ends_with("/true"));
  CHECK(programs.by_role.at("ps").executable == "/bin/sh");
  CHECK(programs.by_role.at("ps").command == std::vector<std::string>{"sh", "-c", "x"});

  wanted.role_commands[0].path = "/nowhere";
  const Prepared refused = prepare(wanted);
  CHECK(refused.status == 127);
  CHECK(refused.failure.starts_with("role ps: "));
}

TEST_CASE_FIXTURE(Fixture, "Preparation refuses a command that leaves its variables no space") {
  Prepare wanted;
  wanted.environment_bytes = uint64_t{1} << 40;
  const Prepared refused = prepare(wanted);
  CHECK(refused.status != 0);
  CHECK_FALSE(refused.failure.empty());
}

TEST_CASE_FIXTURE(Fixture, "Preparation holds as many different ports as asked") {
  Prepare wanted;
  wanted.ports = 3;
  const Prepared prepared = prepare(wanted);
  CHECK(prepared.failure.empty());
  REQUIRE(prepared.ports.size() == 3);
  CHECK(prepared.ports[0] != prepared.ports[1]);
  CHECK(prepared.ports[1] != prepared.ports[2]);
  CHECK(preparation.held_ports() == prepared.ports);
}

TEST_CASE_FIXTURE(Fixture, "Preparation holds the ports of given addresses, or names the address") {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  const uint16_t taken = local_address(listener.get()).value().port;
  const uint16_t free = hold_ports(1, std::nullopt).value().front().number;
  const auto prepare_at = [this](uint16_t port) {
    Prepare wanted;
    wanted.addresses = {format("a.b:{}", port)};
    return prepare(wanted);
  };
  const Prepared refused = prepare_at(taken);
  CHECK(refused.failure == format("a.b:{0}: cannot hold port {0}: Address already in use", taken));
  CHECK(refused.status == 4);
  const Prepared prepared = prepare_at(free);
  CHECK(prepared.failure.empty());
  CHECK(prepared.ports.empty());
  CHECK_FALSE(hold_this_port(free));
}

TEST_CASE_FIXTURE(Fixture,
                  "Preparation listens for probes at a port of --port-range that it holds") {
  Prepare wanted;
  wanted.token = token;
  wanted.ports = 2;
  wanted.port_range = free_range(2);
  wanted.probe = true;
  const Prepared prepared = prepare(wanted);
  CHECK(prepared.failure == "");
  REQUIRE_FALSE(prepared.probe_endpoints.empty());
  for (const ProbeEndpoint& place : prepared.probe_endpoints)
    CHECK(place.address.port == prepared.ports[0]);
}

TEST_CASE_FIXTURE(Fixture,
                  "Preparation holds one more port for probes if all tasks have given addresses") {
  const PortRange range = free_range(1);
  const uint16_t given = hold_ports(1, std::nullopt).value().front().number;
  Prepare wanted;
  wanted.token = token;
  wanted.addresses = {format("a.b:{}", given)};
  wanted.port_range = range;
  wanted.probe = true;
  const Prepared prepared = prepare(wanted);
  CHECK(prepared.failure == "");
  REQUIRE_FALSE(prepared.probe_endpoints.empty());
  CHECK(prepared.probe_endpoints[0].address.port == range.first);
  CHECK(preparation.held_ports() == std::vector<uint16_t>{given, range.first});
}

TEST_CASE_FIXTURE(Fixture, "Preparation listens for a check at two ports of --port-range") {
  const PortRange range = free_range(2);
  const auto check_in = [this](const PortRange& in) {
    DiagnoseReply answer;
    preparation.prepare_check({.token = token, .path = "", .networks = {}, .port_range = in},
                              answer);
    return answer;
  };
  const DiagnoseReply few = check_in({range.first, range.first});
  CHECK(few.listen_failure == format("--port-range {}: 2 ports are needed, it has 1", range.first));
  CHECK(few.probe_addresses.empty());
  const DiagnoseReply checked = check_in(range);
  CHECK(checked.listen_failure == "");
  REQUIRE_FALSE(checked.probe_addresses.empty());
  REQUIRE(checked.bandwidth_addresses.size() == checked.probe_addresses.size());
  for (size_t i = 0; i < checked.probe_addresses.size(); ++i) {
    CHECK(checked.probe_addresses[i].port == range.first);
    CHECK(checked.bandwidth_addresses[i] == Address{checked.probe_addresses[i].ip, range.last});
  }
}

TEST_CASE_FIXTURE(Fixture, "Preparation sends the targets that its probe reached") {
  preparation.probe({});
  Prepare wanted;
  wanted.token = token;
  wanted.number = 5;
  wanted.probe = true;
  const Prepared prepared = prepare(wanted);
  REQUIRE_FALSE(prepared.probe_endpoints.empty());
  const Address own = prepared.probe_endpoints[0].address;
  preparation.probe({.targets = {{.number = 5, .addresses = {own}}}});
  run_until(*loop, [this] { return !sent.empty(); });
  CHECK(sent.size() == 1);
  CHECK(sent[0].first == MessageType::reached);
  const auto reached = decode<Reached>(sent[0].second).value();
  REQUIRE(reached.targets.size() == 1);
  CHECK(reached.targets[0].number == 5);
  CHECK(reached.targets[0].addresses == std::vector{own});
  // Tasks start: no other host may reach the listener now.
  preparation.end();
  preparation.probe({.targets = {{.number = 5, .addresses = {own}}}, .patience = seconds(1)});
  run_until(*loop, [this] { return sent.size() == 2; });
  CHECK(decode<Reached>(sent[1].second).value().targets[0].addresses.empty());
}

TEST_CASE_FIXTURE(Fixture, "Preparation sends the resources of its host") {
  REQUIRE(preparation.find_resources({}));
  CHECK(sent.empty());
  run_until(*loop, [this] { return !sent.empty(); });
  CHECK(sent[0].first == MessageType::resources);
  CHECK(decode<HostResources>(sent[0].second).value().topology == own_topology().value());
}

}  // namespace
}  // namespace dt
