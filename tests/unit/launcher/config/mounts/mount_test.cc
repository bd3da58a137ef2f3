#include "launcher/config/mounts/mount.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

std::string why_not_added(std::string_view text) {
  std::vector<Mount> mounts = {{.source = "/a", .target = "/taken", .command = {}}};
  const auto added = add_mount(mounts, text);
  return added ? "" : added.error().message;
}

TEST_CASE("a mount is SOURCE:TARGET, with :ro behind it") {
  std::vector<Mount> mounts;
  CHECK(add_mount(mounts, "/srv/data:/data"));
  CHECK(add_mount(mounts, "/srv/a b:/x//y/./z/:ro"));
  CHECK(add_mount(mounts, "s3:bucket/x:/s3:rw"));
  CHECK(add_mount(mounts, "nfs://store/export:/nfs"));
  CHECK(mounts == std::vector<Mount>{{"/srv/data", "/data", false, ""},
                                     {"/srv/a b", "/x/y/z", true, ""},
                                     {"s3:bucket/x", "/s3", false, ""},
                                     {"nfs://store/export", "/nfs", false, ""}});
  for (const Mount& mount : mounts) {
    std::vector<Mount> again;
    CHECK(add_mount(again, mount_text(mount)));
    CHECK(again.front() == mount);
  }
}

TEST_CASE("bad mounts are refused") {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"", "has no target"},
      {"/srv/data", "has no target"},
      {"/srv/data:ro", "has no target"},
      {"nfs://store/export", "has no target"},
      {"/srv/data:", "has no target"},
      {"/srv/data:out", "the target \"out\" is no absolute path"},
      {"/srv/data:./out:ro", "the target \"./out\" is no absolute path"},
      {"/srv/data:/", "would hide all files"},
      {"/srv/data://", "has no target"},
      {"/srv/data:/.", "would hide all files"},
      {"/srv/data:/a/../b", "has \"..\""},
      {"/srv/data:/proc", "is in /proc"},
      {"/srv/data:/sys/fs/x", "is in /sys"},
      {"/srv/data:/dev/shm", "is in /dev"},
      {":/data", "has no source"},
      {"/b:/taken/", "two mounts have the target /taken"},
  };
  for (const Case& one : cases) {
    INFO(one.text);
    CHECK(why_not_added(one.text).find(one.message) != std::string::npos);
  }
  CHECK(why_not_added("/srv/data:/devices").empty());
}

TEST_CASE("a command belongs to the mount of its target") {
  std::vector<Mount> mounts;
  REQUIRE(add_mount(mounts, "s3:data:/data:ro"));
  CHECK(set_mount_command(mounts, "/data/=rclone mount a=b {target}"));
  CHECK(mounts.front().command == "rclone mount a=b {target}");
  const auto message = [&mounts](std::string_view text) {
    const auto set = set_mount_command(mounts, text);
    return set ? std::string() : set.error().message;
  };
  CHECK(message("/data=x {target}").find("has two commands") != std::string::npos);
  CHECK(message("/other=x {target}").find("no mount has the target /other") != std::string::npos);
  CHECK(message("x {target}").find("expected TARGET=COMMAND") != std::string::npos);
  mounts.front().command.clear();
  CHECK(message("/data= ").find("is empty") != std::string::npos);
  CHECK(message("/data=mount it").find("has no {target}") != std::string::npos);
}

TEST_CASE("a source without a command is a folder or an export") {
  const auto message = [](const Mount& mount) {
    const auto checked = check_mount_sources({mount});
    return checked ? std::string() : checked.error().message;
  };
  CHECK(message({"/srv/data", "/d", false, ""}).empty());
  CHECK(message({"nfs://store/export/x", "/d", false, ""}).empty());
  CHECK(message({"anything", "/d", false, "x {target}"}).empty());
  CHECK(message({"data", "/d", false, ""}) == "the source \"data\" is no absolute path");
  CHECK(message({"/a/../b", "/d", false, ""}).find("has \"..\"") != std::string::npos);
  CHECK(message({"nfs://store", "/d", false, ""}).find("expected nfs://server/export") == 0);
  CHECK(message({"nfs:///export", "/d", false, ""}).find("expected nfs://server/export") == 0);
  CHECK(message({"s3://bucket", "/d", false, ""}).find("--mount-command /d=COMMAND") !=
        std::string::npos);
  CHECK(parse_nfs_export("nfs://store:2049/a//b/").value() == NfsExport{"store:2049", "/a/b"});
}

}  // namespace
}  // namespace dt
