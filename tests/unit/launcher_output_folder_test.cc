#include "launcher/output_folder.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace dt {
namespace {

std::string refusal(const Result<>& result) {
  return result ? "" : result.error().message;
}

TEST_CASE("a folder into which everybody can write is refused unless only owners can replace") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/logs";
  REQUIRE(mkdir(path.c_str(), 0700) == 0);
  for (const mode_t mode : {0700U, 0770U, 01777U}) {
    chmod(path.c_str(), mode);
    CHECK(refusal(check_output_folder(path)) == "");
  }
  chmod(path.c_str(), 0777);
  CHECK(refusal(check_output_folder(path)) ==
        "--output-dir: " + path +
            ": every user of this machine can write into this folder and could replace the files; "
            "use another one, or: chmod o-w " +
            path);
  CHECK(refusal(check_output_folder(path + "/none")) ==
        "--output-dir: " + path + "/none: No such file or directory");
}

TEST_CASE("a task's folder is none that a link leads to") {
  const TemporaryFolder folder;
  folder.write("file", "");
  const std::string link = folder.path() + "/rank.0";
  REQUIRE(symlink(folder.path().c_str(), link.c_str()) == 0);
  CHECK(refusal(check_task_folder(folder.path())) == "");
  CHECK(refusal(check_task_folder(link)) ==
        "--output-dir: " + link + ": a link, where a folder of dtrain's belongs");
  CHECK(refusal(check_task_folder(folder.path() + "/file")) ==
        "--output-dir: " + folder.path() + "/file: this is no folder");
}

}  // namespace
}  // namespace dt
