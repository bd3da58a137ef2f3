#include "launcher/config/jobs/job_resources.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace dt {
namespace {

/// Returns the options of the resources of a role ps, "name=value …", or the error's first line.
std::string resources_read(const std::string& text) {
  const TomlDocument document = TomlDocument::parse(text, "j.toml").value();
  OptionSource options;
  const auto read = read_role_resources(document, "ps", document.entries().front(), options);
  if (!read) return read.error().message.substr(0, read.error().message.find('\n'));
  std::string all;
  for (const auto& [name, values] : options.values)
    all += (all.empty() ? "" : " ") + name + ":" + values.front();
  return all;
}

TEST_CASE("a role's resources become options") {
  CHECK(resources_read("resources = {cpus = 4, gpus = 2, memory = \"16G\"}") ==
        "role-cpus:ps=4 role-gpus:ps=2 role-memory:ps=16G");
  CHECK(resources_read("resources = {gpus = 0}") == "role-gpus:ps=0");
  CHECK(resources_read("resources = {gpus = 0.5}") == "role-gpus:ps=0.5");
  CHECK(resources_read("resources = {}").empty());
}

TEST_CASE("wrong resources are refused at their place") {
  const std::string at = "j.toml:1:14: ";
  const std::string gpus = "gpus: expected " + std::string(
                                                   "a whole number of GPUs, 0..1024, or one "
                                                   "of which 1 is a multiple, such as 0.5, got ");
  const std::pair<const char*, std::string> rows[] = {
      {"gpus = -1", at + gpus + "-1"},
      {"gpus = \"two\"", at + gpus + "\"two\""},
      {"gpus = 0.3", at + gpus + "0.3"},
      {"gpus = true", at + gpus + "true or false"},
      {"cpus = 0", at + "cpus: expected a number of cores, 1..65536, got 0"},
      {"cpus = 1.5", at + "cpus: expected a number of cores, 1..65536, got 1.5"},
      {"cpus = \"2\"", at + "cpus: expected a number of cores, 1..65536, got \"2\""},
      {"memory = \"4 apples\"",
       at + "memory: expected a size from 1, such as 512M or 4G, got \"4 apples\""},
      {"memory = 4", at + "memory: expected a size from 1, such as 512M or 4G, got 4"},
      {"gpu = 1", at + "unknown key \"gpu\" in the resources of [roles.ps]; did you mean gpus?"},
  };
  for (const auto& [text, expected] : rows) {
    CAPTURE(text);
    CHECK(resources_read("resources = {" + std::string(text) + "}") == expected);
  }
  CHECK(resources_read("resources = 1") ==
        "j.toml:1:1: resources: expected a table, such as { gpus = 1 }, got a whole number");
}

TEST_CASE("a role's ports become an option") {
  const auto read = [](const std::string& text) {
    const TomlDocument document = TomlDocument::parse("ports = " + text, "j.toml").value();
    OptionSource options;
    const auto added = read_role_ports(document, "ps", document.entries().front(), options);
    return added ? options.values.at("role-ports").front() : added.error().message;
  };
  CHECK(read("[2222]") == "ps=2222");
  CHECK(read("[2222, 2223]") == "ps=2222,2223");
  for (const char* text : {"[]", "2222", "[80]", "[70000]", "[\"2222\"]"}) {
    CAPTURE(text);
    CHECK(read(text).starts_with(
        "j.toml:1:1: ports: expected an array of ports of 1024..65535, as [2222]\n"));
  }
}

}  // namespace
}  // namespace dt
