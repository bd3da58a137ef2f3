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

TEST_CASE("own_names: only a job that names hosts needs them") {
  RunConfig config;
  CHECK(own_names(config).empty());
  config.external_cluster = parse_cluster_option("worker|h1:5", "x").value();
  CHECK_FALSE(own_names(config).empty());
}

}  // namespace
}  // namespace dt
