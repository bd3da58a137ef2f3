#include "launcher/export/export_code.h"

#include "tests/unit/launcher/export/fixture.h"
#include "tests/unit/temporary_folder.h"

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("code is read with its modes, and the files behind links") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/pkg");
  folder.write("a.py", "import pkg.b\n");
  folder.write("pkg/b.py", "pass\n");
  std::filesystem::permissions(folder.path() + "/pkg/b.py", std::filesystem::perms::owner_all);
  std::filesystem::create_symlink("a.py", folder.path() + "/link.py");
  ExportJob job = exported_job("command = 'x'\nnp = 1\n");
  job.config.sync = SyncOptions{.from = folder.path()};
  job.code = find_code(job.config, folder.path()).value();
  REQUIRE(job.code);
  const UserPlace place = {.folder = folder.path(), .environment = {{"PATH", "/usr/bin:/bin"}}};
  REQUIRE(read_code(*job.config.sync, place, 100, job));
  CHECK(job.code->files ==
        std::vector<CodeFile>{{.path = "a.py", .content = "import pkg.b\n"},
                              {.path = "link.py", .content = "import pkg.b\n"},
                              {.path = "pkg/b.py", .content = "pass\n", .is_executable = true}});
  CHECK(job.code->bytes == 31);
  job.code->files.clear();
  REQUIRE(read_code(*job.config.sync, place, 10, job));
  CHECK(job.code->files.empty());
  CHECK(job.code->bytes == 18);
}

TEST_CASE("a job without --sync, or with a repository elsewhere, has no code here") {
  ExportJob job = exported_job("command = 'x'\nnp = 1\n");
  CHECK(!find_code(job.config, "/").value());
  job.config.sync = SyncOptions{.repository = GitSource{.url = "https://h/r", .ref = ""}};
  CHECK(!find_code(job.config, "/").value());
  job.config.sync = SyncOptions{.from = "/no/where"};
  CHECK(!find_code(job.config, "/"));
}

}  // namespace
}  // namespace dt
