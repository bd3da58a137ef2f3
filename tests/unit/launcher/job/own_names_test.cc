#include "launcher/job/own_names.h"

#include "launcher/config/hosts/hosts.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>

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

TEST_CASE("own_names: a name that leads to an address of this machine is its own") {
  char buffer[256] = {};
  REQUIRE(gethostname(buffer, sizeof buffer - 1) == 0);
  const std::string own = std::string(buffer).substr(0, std::string(buffer).find('.'));
  std::vector<std::string> asked;
  std::string answer;
  const NameLookUp look_up = [&](const std::string& name) -> Result<std::vector<std::string>> {
    asked.push_back(name);
    if (name == "elsewhere") return std::vector<std::string>{"192.0.2.7"};
    return std::vector{answer};
  };
  RunConfig config;
  config.hosts = {{.name = own + ".example.org"}, {.name = "elsewhere"}, {.name = "192.0.2.1"}};
  for (const char* const address : {"127.0.1.1", "127.0.0.1", "::1"}) {
    answer = address;
    CHECK(is_local(config.hosts[0], own_names(config, look_up)));
  }
  answer = "192.0.2.9";
  CHECK_FALSE(is_local(config.hosts[0], own_names(config, look_up)));
  CHECK(std::ranges::count(asked, "elsewhere") == 0);
  config.hosts.clear();
  config.external_cluster = parse_cluster_option("worker|service:5;elsewhere:5", "x").value();
  answer = "127.0.0.1";
  const std::vector<std::string> names = own_names(config, look_up);
  CHECK(is_local({.name = "service"}, names));
  CHECK_FALSE(is_local({.name = "elsewhere"}, names));
}

TEST_CASE("own_names: only a job that names hosts needs them") {
  RunConfig config;
  CHECK(own_names(config).empty());
  config.external_cluster = parse_cluster_option("worker|h1:5", "x").value();
  CHECK_FALSE(own_names(config).empty());
}

}  // namespace
}  // namespace dt
