#include "launcher/sync/setup/setup_run.h"

#include "launcher/sync/setup/setup_lock.h"
#include "launcher/sync/setup/setup_place.h"
#include "tests/unit/launcher/sync/store/small_disk.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// A tree, dtrain's folder, and what a setup printed.
struct Host {
  TemporaryFolder tree;
  TemporaryFolder store;
  std::string output = {};
  std::vector<std::string> notes = {};

  SetupOrder order(std::vector<std::string> commands) const {
    return {.commands = std::move(commands),
            .environment = {"PATH=/usr/local/bin:/usr/bin:/bin"},
            .folder = tree.path(),
            .store = store.path() + "/new/dtrain",
            .source = "/home/me/code",
            .job = "job-1"};
  }
  Result<SetupDone> run(const SetupOrder& setup) {
    output.clear();
    notes.clear();
    return run_setup(setup, {.output = [this](std::string_view text) -> Result<> {
                               output += text;
                               return {};
                             },
                             .note = [this](const std::string& note) { notes.push_back(note); }});
  }
};

TEST_CASE("a program that a command makes is found by the next, and by tasks") {
  Host host;
  const SetupOrder order = host.order(
      {"mkdir $DTRAIN_SETUP_DIR/bin && printf '#!/bin/sh\\necho made\\n' > $DTRAIN_SETUP_DIR/bin/x",
       "chmod +x $DTRAIN_SETUP_DIR/bin/x", "x"});
  const auto done = host.run(order);
  REQUIRE(done.has_value());
  CHECK(host.output == "made\n");
  CHECK(host.notes.empty());
  CHECK(done->commands_run == 3);
  CHECK(done->place.has_bin);
  CHECK(done->place.folder == setup_paths(order.store, setup_name(order)).folder);
  CHECK(std::filesystem::status(done->place.folder).permissions() ==
        std::filesystem::perms::owner_all);
}

TEST_CASE("no command runs after one that failed") {
  Host host;
  const auto done = host.run(host.order({"echo first", "echo bad >&2; exit 3", "echo never"}));
  REQUIRE(!done.has_value());
  CHECK(done.error().code == Errc::input);
  CHECK(done.error().message ==
        "--setup 'echo bad >&2; exit 3': exit status 3; its last lines:\n  bad");
  CHECK(host.output == "first\nbad\n");
}

TEST_CASE("all commands together have the time of --setup-timeout") {
  Host host;
  SetupOrder order = host.order({"sleep 600", "echo never"});
  order.timeout = milliseconds(300);
  const auto done = host.run(order);
  REQUIRE(!done.has_value());
  CHECK(done.error().message.find("after 300ms, which --setup-timeout allows") !=
        std::string::npos);
  CHECK(host.output.empty());
}

TEST_CASE("--setup-once leaves out commands that succeeded with the same files") {
  Host host;
  SetupOrder order = host.order({"echo venv", "cat requirements.txt"});
  host.tree.write("requirements.txt", "a\n");
  order.files = {{"requirements.txt", sha256(as_bytes("a\n"))}};
  REQUIRE(host.run(order).has_value());
  CHECK(host.output == "venv\na\n");
  // Without the option, all of them run again.
  REQUIRE(host.run(order).has_value());
  CHECK(host.output == "venv\na\n");
  order.once = true;
  auto done = host.run(order);
  REQUIRE(done.has_value());
  CHECK(host.output.empty());
  CHECK(done->commands_run == 0);
  CHECK(done->commands_skipped == 2);
  done->lock.reset();
  order.files = {{"requirements.txt", sha256(as_bytes("b\n"))}};
  host.tree.write("requirements.txt", "b\n");
  done = host.run(order);
  REQUIRE(done.has_value());
  CHECK(host.output == "b\n");
  CHECK(done->commands_run == 1);
  done->lock.reset();
  // A folder that somebody has removed has nothing of the earlier setups.
  std::filesystem::remove_all(done->place.folder);
  REQUIRE(host.run(order).has_value());
  CHECK(host.output == "venv\nb\n");
}

TEST_CASE("--setup-once runs a command again that failed after it had succeeded") {
  Host host;
  SetupOrder order = host.order({"echo ran; [ ! -e fail ]"});
  order.once = true;
  order.files = {{"other", Digest{}}};
  REQUIRE(host.run(order).has_value());
  order.once = false;
  host.tree.write("fail", "");
  REQUIRE(!host.run(order).has_value());
  std::filesystem::remove(host.tree.path() + "/fail");
  order.once = true;
  REQUIRE(host.run(order).has_value());
  CHECK(host.output == "ran\n");
}

TEST_CASE("jobs share the folder of a setup, and another setup waits for them") {
  Host host;
  SetupOrder order = host.order({"echo ran"});
  const auto first = host.run(order);
  REQUIRE(first.has_value());
  order.job = "job-2";
  order.once = true;
  const auto second = host.run(order);
  REQUIRE(second.has_value());
  CHECK(host.output.empty());
  CHECK(second->commands_skipped == 1);
  CHECK(host.notes ==
        std::vector<std::string>{"setup is left out: another job runs in " + second->place.folder});
  order.once = false;
  order.timeout = milliseconds(1);
  const auto third = host.run(order);
  REQUIRE(!third.has_value());
  CHECK(third.error().code == Errc::timeout);
  CHECK(third.error().message ==
        "--setup: another job has used " + second->place.folder +
            ".lock for 1ms, which is as long as --setup-timeout allows; --setup-once does not wait "
            "for jobs that run there");
  CHECK(host.notes ==
        std::vector<std::string>{"setup waits for job job-1 or one that shares its setup, for at "
                                 "most 1ms (--setup-timeout); --setup-once does not wait"});
  CHECK(host.output.empty());
}

TEST_CASE("a setup that fails keeps no lock") {
  Host host;
  SetupOrder order = host.order({"[ -e there ]"});
  REQUIRE(!host.run(order).has_value());
  host.tree.write("there", "");
  order.timeout = seconds(60);
  CHECK(host.run(order).has_value());
  CHECK(host.notes.empty());
}

TEST_CASE("a folder that cannot be made is named") {
  Host host;
  SetupOrder order = host.order({"true"});
  host.store.write("file", "");
  order.store = host.store.path() + "/file";
  const auto done = host.run(order);
  REQUIRE(!done.has_value());
  CHECK(done.error().message.find(host.store.path() + "/file") != std::string::npos);
}

TEST_CASE("a setup's folder that cannot be made has the reason of the file system") {
  Host host;
  SetupOrder order = host.order({"true"});
  const SmallDisk disk(256);
  if (disk.there()) order.store = disk.path() + "/dtrain";
  auto first = host.run(order);
  REQUIRE(first.has_value());
  const std::string folder = first->place.folder;
  first->lock.reset();
  std::filesystem::remove_all(folder);
  if (::geteuid() != 0) {
    std::filesystem::permissions(setups_folder(order.store), std::filesystem::perms(0500));
  } else if (disk.there()) {
    struct statvfs use = {};
    REQUIRE(::statvfs(disk.path().c_str(), &use) == 0);
    const std::string full = "size=256k,nr_inodes=" + std::to_string(use.f_files - use.f_ffree);
    REQUIRE(::mount("none", disk.path().c_str(), "tmpfs", MS_REMOUNT, full.c_str()) == 0);
  } else {
    return;  // A container whose root may mount nothing.
  }
  const auto done = host.run(order);
  REQUIRE(!done.has_value());
  const bool is_full = disk.there();
  CHECK(done.error().message == "cannot make the folder " + folder + ": " +
                                    (is_full ? "No space left on device" : "Permission denied"));
  std::filesystem::permissions(setups_folder(order.store), std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace dt
