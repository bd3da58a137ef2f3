#include "launcher/job/own_names.h"

#include "launcher/config/hosts/hosts.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("own_names: addresses and host name of this machine, with and without its domain") {
  RunConfig config;
  config.hosts = {{.name = "a"}};
  const std::vector<std::string> names = own_names(config);
  char buffer[256] = {};
  REQUIRE(gethostname(buffer, sizeof buffer - 1) == 0);
  const std::string full = buffer;
  CHECK(std::ranges::count(names, "127.0.0.1") == 1);
  CHECK(is_local({.name = full}, names));
  CHECK(is_local({.name = full.substr(0, full.find('.'))}, names));
  CHECK_FALSE(is_local({.name = "host.invalid"}, names));
}

/// Answers for names that have an address, and keeps the names that were asked for.
struct FakeResolver {
  std::map<std::string, std::vector<std::string>> known = {};
  std::vector<std::string> asked = {};

  std::vector<std::string> own_names_of(const RunConfig& config) {
    asked.clear();
    return own_names(config, [this](const std::vector<std::string>& names) {
      asked.insert(asked.end(), names.begin(), names.end());
      std::map<std::string, std::vector<std::string>> found;
      for (const std::string& name : names) {
        if (known.contains(name)) found[name] = known[name];
      }
      return found;
    });
  }
};

std::string own_host_name() {
  char buffer[256] = {};
  REQUIRE(gethostname(buffer, sizeof buffer - 1) == 0);
  return buffer;
}

std::string own_first_label() {
  return own_host_name().substr(0, own_host_name().find('.'));
}

TEST_CASE("own_names: a name that leads to an address of this machine is its own") {
  const std::string other = own_first_label() + ".example.org";
  FakeResolver resolver = {.known = {{"elsewhere", {"127.0.0.1"}}}};
  RunConfig config;
  config.hosts = {{.name = other}, {.name = "elsewhere"}, {.name = "192.0.2.1"}};
  for (const char* const address : {"127.0.1.1", "127.0.0.1", "::1"}) {
    resolver.known[other] = {"192.0.2.8", address};
    CHECK(is_local(config.hosts[0], resolver.own_names_of(config)));
  }
  resolver.known[other] = {"192.0.2.9"};
  CHECK_FALSE(is_local(config.hosts[0], resolver.own_names_of(config)));
  CHECK(resolver.asked == std::vector{other});
}

TEST_CASE("own_names: a cluster from outside or of a scheduler has this machine under any name") {
  FakeResolver resolver = {.known = {{"service", {"127.0.0.1"}}, {"elsewhere", {"192.0.2.7"}}}};
  RunConfig outside;
  outside.external_cluster = parse_cluster_option("worker|service:5;elsewhere:5", "x").value();
  RunConfig scheduled;
  scheduled.allocation = "Slurm job 21";
  scheduled.hosts = {{.name = "service"}, {.name = "elsewhere"}, {.name = "late"}};
  for (const RunConfig& config : {outside, scheduled}) {
    const std::vector<std::string> names = resolver.own_names_of(config);
    CHECK(is_local({.name = "service"}, names));
    CHECK_FALSE(is_local({.name = "elsewhere"}, names));
    CHECK_FALSE(is_local({.name = "late"}, names));
  }
  scheduled.hosts.push_back({.name = own_host_name()});
  CHECK_FALSE(is_local({.name = "service"}, resolver.own_names_of(scheduled)));
  CHECK(resolver.asked.empty());
}

TEST_CASE("own_names: a pod's name continues its hostname, also where it does not resolve") {
  FakeResolver resolver;
  RunConfig config;
  config.hosts = {{.name = own_host_name() + ".job.ns.svc"},
                  {.name = own_host_name() + "-0.job.ns.svc"}};
  config.allocation = "MPIJob";
  config.hosts_are_pods = true;
  const std::vector<std::string> names = resolver.own_names_of(config);
  CHECK(is_local(config.hosts[0], names));
  CHECK_FALSE(is_local(config.hosts[1], names));
  CHECK(resolver.asked.empty());
  config.hosts_are_pods = false;
  CHECK_FALSE(is_local(config.hosts[0], resolver.own_names_of(config)));
}

TEST_CASE("look_up_names: names without an address are left out") {
  const auto found = look_up_names({"localhost", std::string(300, 'a')});
  CHECK(found.size() == 1);
  CHECK(found.contains("localhost"));
}

TEST_CASE("own_names: only a job that names hosts needs them") {
  RunConfig config;
  CHECK(own_names(config).empty());
  config.external_cluster = parse_cluster_option("worker|h1:5", "x").value();
  CHECK_FALSE(own_names(config).empty());
}

}  // namespace
}  // namespace dt
