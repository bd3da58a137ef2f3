#include "cmd/cache/cache_command.h"

#include "base/format.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dt {
namespace {

TEST_CASE("the copies of dtrain are listed and removed, and nothing else") {
  const TemporaryFolder folder;
  const std::string digest(64, 'a');
  const std::string cache = folder.path() + "/cache";
  folder.write("cache/" + digest + "/dtrain", std::string(2'500'000, 'x'));
  folder.write("cache/" + std::string(64, 'b') + ".old/dtrain", "x");
  folder.write("cache/notes/dtrain", "mine");
  std::filesystem::create_directory_symlink(folder.path(), cache + "/" + std::string(64, 'c'));
  const std::string listed = list_cache({folder.path() + "/none", cache});
  CHECK(listed.starts_with("  2.5 MB  last used 2"));
  CHECK(listed.find(format("{}/{}/dtrain\n", cache, digest)) != std::string::npos);
  CHECK(listed.find("notes") == std::string::npos);
  CHECK(listed.find("cccc") == std::string::npos);
  CHECK(clear_cache({cache}).value() == format("removed 2 copies (2.5 MB) in {}\n", cache));
  CHECK(clear_cache({cache}).value() == "no copies of dtrain\n");
  CHECK(list_cache({cache}) == "no copies of dtrain\n");
  CHECK(folder.read("cache/notes/dtrain") == "mine");
}

TEST_CASE("a folder of copies that another user can fill is left out") {
  const TemporaryFolder folder;
  const std::string digest(64, 'a');
  folder.write("open/" + digest + "/dtrain", "x");
  const std::string open = folder.path() + "/open";
  std::filesystem::permissions(open, std::filesystem::perms::all);
  const std::string left =
      format("{} is left out: it must be yours, and no other may write there\n", open);
  CHECK(list_cache({open}) == left);
  CHECK(clear_cache({open}).value() == left);
  CHECK(folder.read("open/" + digest + "/dtrain") == "x");
}

TEST_CASE("a link of another user is left out" * doctest::skip(::geteuid() != 0)) {
  const TemporaryFolder folder;
  const std::string digest(64, 'a');
  folder.write("target/" + digest + "/dtrain", "x");
  const std::string link = folder.path() + "/link";
  std::filesystem::create_directory_symlink(folder.path() + "/target", link);
  CHECK(list_cache({link}).find("last used") != std::string::npos);
  REQUIRE(::lchown(link.c_str(), 65534, 65534) == 0);
  CHECK(clear_cache({link}).value().find(" is left out: ") != std::string::npos);
  CHECK(folder.read("target/" + digest + "/dtrain") == "x");
}

TEST_CASE("a copy that has not become whole is unfinished") {
  const TemporaryFolder folder;
  folder.write(std::string(64, 'a') + "/new.node1.7", "x");
  CHECK(list_cache({folder.path()}).starts_with("  0.0 MB  unfinished  "));
}

TEST_CASE("take_answers: in the order of the ranks; the folder is removed") {
  const std::string folder = make_answer_folder().value();
  for (const char* rank : {"rank.01", "rank.10", "rank.00"}) {
    std::filesystem::create_directory(folder + "/" + rank);
    std::ofstream(format("{}/{}/stdout", folder, rank)) << rank << "\n";
  }
  CHECK(take_answers(folder) == "rank.00\nrank.01\nrank.10\n");
  CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("answer_cache: in a job each line begins with its host") {
  const TemporaryFolder folder;
  const Environment environment = {{"HOME", folder.path()}, {"DTRAIN_HOSTNAME", "node1"}};
  folder.write(".cache/dtrain/" + std::string(64, 'a') + "/dtrain", "x");
  CHECK(answer_cache("list", environment).value().starts_with("node1:   0.0 MB  last used "));
}

}  // namespace
}  // namespace dt
