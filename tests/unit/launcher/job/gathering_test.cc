#include "launcher/job/gathering.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// Hosts without a way to them, and what the user sees of the gathering.
struct UnreachableHosts {
  explicit UnreachableHosts(RunConfig given) : config(std::move(given)) {
    plan.roles = workers(0);
    for (const Host& host : config.hosts)
      plan.hosts.push_back({.host = host});
    REQUIRE(agents.connect(config.hosts, config.hosts.size()));
  }

  Result<> gather(
      ReadHosts read_hosts = {}, std::function<bool()> interrupted = [] { return false; }) {
    const GatheringParts parts = {.loop = *loop,
                                  .agents = agents,
                                  .log = log,
                                  .config = config,
                                  .interrupted = std::move(interrupted),
                                  .read_hosts = std::move(read_hosts)};
    return Gathering(parts, plan, history, Time::max()).gather();
  }

  RunConfig config;
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string logged;
  Log log{Log::Level::normal, [this](std::string_view line) { logged += line; }};
  AgentGroup agents{
      *loop,
      {.connect_options =
           ConnectOptions{.ssh = {},
                          .binary = {},
                          .architecture = {},
                          .other =
                              [](const Host& host) {
                                return start_client(
                                    {"sh", "-c", "echo no route to " + host.name + " >&2; exit 1"});
                              }},
       .on_connected = {}}};
  Plan plan;
  HostHistory history;
};

RunConfig config_of(std::vector<Host> hosts, const JobSize& size) {
  RunConfig config;
  config.hosts = std::move(hosts);
  config.start_timeout = milliseconds(1);
  config.restarts.size = size;
  config.restarts.elastic_timeout = milliseconds(1500);
  return config;
}

TEST_CASE("Gathering: too few slots at the end of --elastic-timeout, with the reasons") {
  UnreachableHosts hosts(
      config_of({{.name = "a", .slots = 2}, {.name = "b", .slots = 2}}, {.ranks_min = 2}));
  const auto gathered = hosts.gather();
  REQUIRE_FALSE(gathered.has_value());
  CHECK(gathered.error().code == Errc::unreachable);
  const std::string& text = gathered.error().message;
  CHECK_MESSAGE(text.starts_with("0 of 2 slots after 1500ms (--elastic-timeout)\na: "), text);
  CHECK(text.find("no route to b") != std::string::npos);
  CHECK_MESSAGE(hosts.logged.find("0 of 2 slots; waiting for hosts") != std::string::npos,
                hosts.logged);
}

TEST_CASE("Gathering: hosts that the source names later are tried, others are left") {
  RunConfig config = config_of({{.name = "a", .slots = 2}}, {.ranks_min = 2});
  config.restarts.elastic_timeout = seconds(60);
  UnreachableHosts hosts(config);
  int reads = 0;
  Timer timer;
  const auto read_hosts = [&](const OnHostsRead& on_read) {
    timer = hosts.loop->after(Duration::zero(), [&, on_read] {
      ++reads;
      if (reads == 1) return on_read(fail(Errc::input, "hosts: cannot be read"));
      on_read(std::vector<Host>{{.name = "c", .slots = 2}});
    });
  };
  const auto logged = [&hosts](std::string_view text) {
    return hosts.logged.find(text) != std::string::npos;
  };
  const auto gathered = hosts.gather(read_hosts, [&] { return logged("no route to c"); });
  REQUIRE_FALSE(gathered.has_value());
  CHECK(gathered.error().code == Errc::interrupted);
  CHECK(logged("hosts: cannot be read; the hosts that were named before stay"));
  CHECK(hosts.history.named == std::vector<Host>{{.name = "c", .slots = 2}});
  for (const PlannedHost& host : hosts.plan.hosts)
    CHECK(host.host.name == "c");
}

TEST_CASE("Gathering: an interruption ends it") {
  UnreachableHosts hosts(config_of({{.name = "a", .slots = 2}}, {.ranks_min = 2}));
  const auto gathered = hosts.gather({}, [] { return true; });
  REQUIRE_FALSE(gathered.has_value());
  CHECK(gathered.error().code == Errc::interrupted);
}

}  // namespace
}  // namespace dt
