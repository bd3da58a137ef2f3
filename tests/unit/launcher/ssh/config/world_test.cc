#include "launcher/ssh/config/ssh_config.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

namespace dt {
namespace {

TEST_CASE("a guarded file must not be writable by others; another may") {
  const TemporaryFolder folder;
  folder.write("config", "User me\n", 0602);
  const SshWorld world = this_machine_for_ssh();
  CHECK(world.read(folder.path() + "/config", true).error().code == Errc::refused);
  CHECK(this_machine_for_ssh().read(folder.path() + "/config", false).value() == "User me\n");
  CHECK(world.read(folder.path() + "/absent", true).error().code == Errc::not_found);
}

TEST_CASE("a file is read once in the life of a world") {
  const TemporaryFolder folder;
  folder.write("config", "first");
  const SshWorld world = this_machine_for_ssh();
  CHECK(world.read(folder.path() + "/config", true).value() == "first");
  folder.write("config", "second");
  CHECK(world.read(folder.path() + "/config", true).value() == "first");
  CHECK(this_machine_for_ssh().read(folder.path() + "/config", true).value() == "second");
}

TEST_CASE("paths come sorted, and only those that are there") {
  const TemporaryFolder folder;
  folder.write("b.conf", "");
  folder.write("a.conf", "");
  folder.write("c.txt", "");
  const SshWorld world = this_machine_for_ssh();
  CHECK(world.glob(folder.path() + "/*.conf") ==
        std::vector<std::string>{folder.path() + "/a.conf", folder.path() + "/b.conf"});
  CHECK(world.glob(folder.path() + "/none*").empty());
}

TEST_CASE("the homes of other users are known") {
  CHECK(this_machine_for_ssh().home_of("root").value_or("").starts_with("/"));
  CHECK(this_machine_for_ssh().home_of("no such user") == std::nullopt);
}

}  // namespace
}  // namespace dt
