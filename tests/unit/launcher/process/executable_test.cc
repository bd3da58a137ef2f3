#include "launcher/process/executable.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("an error names what is missing where the file is there") {
  const TemporaryFolder folder;
  folder.write("dos", "#!/no/sh\r\n", 0755);
  folder.write("unix", "#! /no/sh -e\n", 0755);
  folder.write("python3", "#!/bin/sh\n", 0755);
  std::filesystem::create_symlink("/no/python", folder.path() + "/tool");
  CHECK(missing_part(folder.path() + "/unix") == "its interpreter /no/sh does not exist");
  CHECK(missing_part(folder.path() + "/dos") ==
        "its interpreter '/no/sh\\x0D' does not exist; its lines end in CR LF; try: sed -i "
        "'s/\\r$//' " +
            folder.path() + "/dos");
  CHECK(missing_part(folder.path() + "/absent").empty());
  CHECK(missing_part("/proc/self/exe").starts_with("its loader /"));
  const std::string link = "it is a link to /no/python, which does not exist";
  CHECK(find_executable("./tool", "", folder.path()).error().message ==
        "cannot run ./tool: " + link);
  CHECK(find_executable("tool", folder.path(), "/").error().message ==
        "cannot run tool: not found in PATH, where " + link);
  CHECK(find_executable("python", folder.path(), "/").error().message ==
        "cannot run python: not found in PATH; python3 is there");
}

TEST_CASE("find_executable searches like a shell") {
  const TemporaryFolder folder;
  folder.write("bin/tool", "#!/bin/sh\n", 0755);
  folder.write("bin/plain", "text", 0644);
  folder.write("other/plain", "#!/bin/sh\n", 0755);
  std::filesystem::create_directory(folder.path() + "/bin/folder");
  const std::string bin = folder.path() + "/bin";
  const std::string path = "/nowhere:" + bin;

  CHECK(find_executable("tool", path, "/").value() == bin + "/tool");
  CHECK(find_executable("./tool", "", bin).value() == bin + "/./tool");
  CHECK(find_executable("bin/tool", "", folder.path()).value() == bin + "/tool");
  CHECK(find_executable(bin + "/tool", "", "/").value() == bin + "/tool");
  // A file that cannot be executed is skipped when a later folder has one that can.
  CHECK(find_executable("plain", bin + ":" + folder.path() + "/other", "/").value() ==
        folder.path() + "/other/plain");
  // An empty entry of PATH is the current folder.
  CHECK(find_executable("tool", "", bin).value() == bin + "/./tool");

  // This process's own executable has a name, and a file of that name has its path.
  folder.write("self", "#!/bin/sh\n", 0755);
  CHECK(std::filesystem::equivalent(find_executable("self", folder.path(), "/").value(),
                                    std::filesystem::read_symlink("/proc/self/exe")));
  CHECK(find_executable("./self", "", folder.path()).value() == folder.path() + "/./self");

  struct Case {
    std::string command;
    Errc code;
    std::string message;
  };
  const Case cases[] = {
      {"absent", Errc::not_found, "cannot run absent: not found in PATH"},
      {"folder", Errc::not_found, "cannot run folder: not found in PATH"},
      {"./absent", Errc::not_found, "cannot run ./absent: No such file or directory"},
      {"./folder", Errc::not_runnable, "cannot run ./folder: Is a directory"},
      {"./plain", Errc::not_runnable,
       "cannot run ./plain: Permission denied; try: chmod +x ./plain"},
      {"plain", Errc::not_runnable,
       "cannot run plain: Permission denied; try: chmod +x " + bin + "/plain"},
      {"a b\n", Errc::not_found, "cannot run 'a b\\x0A': not found in PATH"},
  };
  for (const Case& c : cases) {
    const auto found = find_executable(c.command, path, bin);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().code == c.code);
    CHECK(found.error().message == c.message);
  }
}

}  // namespace
}  // namespace dt
