#include "launcher/sync/setup/setup_place.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("source, target and commands decide the folder of a setup, and nothing else does") {
  const SetupOrder order{.commands = {"a", "b"}, .source = "/home/me/code", .target = "code"};
  std::set<std::string> names = {setup_name(order)};
  for (const auto& [commands, source, target] :
       std::vector<std::tuple<std::vector<std::string>, std::string, std::string>>{
           {{"b", "a"}, "/home/me/code", "code"},
           {{"ab"}, "/home/me/code", "code"},
           {{"a", "b"}, "/home/me/cod", "ecode"},
           {{"a", "b"}, "/home/me/code", ""}})
    names.insert(setup_name({.commands = commands, .source = source, .target = target}));
  CHECK(names.size() == 5);
  SetupOrder same = order;
  same.job = "job-2";
  same.once = true;
  same.environment = {"A=1"};
  CHECK(setup_name(same) == setup_name(order));
  CHECK(setup_name(order).size() == 64);
}

TEST_CASE("the lock and the record lie beside the folder, which a program may empty") {
  const SetupPaths paths = setup_paths("/home/me/.cache/dtrain", "abc");
  CHECK(paths.folder == "/home/me/.cache/dtrain/setups/abc");
  CHECK(paths.lock == "/home/me/.cache/dtrain/setups/abc.lock");
  CHECK(paths.record == "/home/me/.cache/dtrain/setups/abc.done");
}

TEST_CASE("a folder bin comes first in PATH, also of an environment without one") {
  using Environment = std::vector<std::string>;
  struct Row {
    bool has_bin;
    Environment before;
    Environment after;
  };
  const Row rows[] = {
      {false, {"PATH=/bin"}, {"PATH=/bin", "DTRAIN_SETUP_DIR=/s"}},
      {true, {"PATH=/bin"}, {"PATH=/s/bin:/bin", "DTRAIN_SETUP_DIR=/s"}},
      {true, {"PATH="}, {"PATH=/s/bin", "DTRAIN_SETUP_DIR=/s"}},
      {true, {}, {"DTRAIN_SETUP_DIR=/s", "PATH=/s/bin:/usr/local/bin:/usr/bin:/bin"}},
      {false, {"DTRAIN_SETUP_DIR=/old", "A=1"}, {"DTRAIN_SETUP_DIR=/s", "A=1"}}};
  for (const Row& row : rows) {
    Environment environment = row.before;
    add_setup_variables({.folder = "/s", .has_bin = row.has_bin}, environment);
    CHECK(environment == row.after);
  }
}

TEST_CASE("only a folder counts as bin") {
  const TemporaryFolder folder;
  CHECK(!setup_place(folder.path()).has_bin);
  folder.write("bin", "a file");
  CHECK(!setup_place(folder.path()).has_bin);
  const TemporaryFolder other;
  other.write("bin/python", "");
  CHECK(setup_place(other.path()) == SetupPlace{.folder = other.path(), .has_bin = true});
}

}  // namespace
}  // namespace dt
