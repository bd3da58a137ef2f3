#include "launcher/mounts/missing_folders.h"

#include "tests/unit/launcher/mounts/own_namespace.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace dt {
namespace {

namespace files = std::filesystem;

bool fails_to_make(const std::string& path, int error) {
  return ::mkdir(path.c_str(), 0700) != 0 && errno == error;
}

TEST_CASE("a missing folder is made in the namespace, and the host stays as it is") {
  const TemporaryFolder folder;
  const std::string path = folder.path();
  folder.write("file", "text", 0640);
  folder.write("sub/file", "deep");
  files::create_symlink("sub/file", path + "/link");
  const auto ended = in_own_namespace([&] {
    MissingFolders missing("/");
    if (!missing.make(path + "/a/b") || !missing.make(path + "/a/c") || !missing.make(path + "/d"))
      return false;
    if (!missing.seal()) return false;
    folder.write("sub/new", "kept");
    return folder.read("file") == "text" && folder.read("link") == "deep" &&
           files::is_directory(path + "/a/c") && files::is_directory(path + "/d") &&
           fails_to_make(path + "/e", EROFS) && fails_to_make(path + "/a/e", EROFS);
  });
  if (ended == NamespaceTest::not_allowed) return;
  CHECK(ended == NamespaceTest::passed);
  CHECK_FALSE(files::exists(path + "/a"));
  CHECK_FALSE(files::exists(path + "/d"));
  CHECK(folder.read("sub/new") == "kept");
}

TEST_CASE("a missing folder is made in the root") {
  const TemporaryFolder folder;
  folder.write("file", "text");
  const std::string made = "/dtrain-unit-missing";
  const auto ended = in_own_namespace([&] {
    MissingFolders missing(folder.path());
    return missing.make(made + "/x") && missing.seal() && files::is_directory(made + "/x") &&
           folder.read("file") == "text" && files::exists("/proc/self/mountinfo") &&
           fails_to_make(made + "/y", EROFS) && !files::exists("/.dtrain-old");
  });
  CHECK(ended != NamespaceTest::failed);
  CHECK_FALSE(files::exists(made));
}

TEST_CASE("folders in which files are made are not covered") {
  const TemporaryFolder folder;
  const std::string path = folder.path();
  folder.write("kept/file", "");
  folder.write("all/file", "");
  ::chmod((path + "/all").c_str(), 01777);
  const auto why = [](MissingFolders& missing, const std::string& wanted) {
    const auto made = missing.make(wanted);
    return made ? std::string() : made.error().message;
  };
  const auto ended = in_own_namespace([&] {
    MissingFolders missing(path + "/kept");
    return why(missing, path + "/kept/x") == "tasks may make files in " + path + "/kept" &&
           why(missing, path + "/all/x") == path + "/all is a folder of all users" &&
           why(missing, path + "/kept/file/x") == path + "/kept/file is no folder";
  });
  CHECK(ended != NamespaceTest::failed);
}

}  // namespace
}  // namespace dt
