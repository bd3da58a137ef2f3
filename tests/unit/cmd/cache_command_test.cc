#include "cmd/cache_command.h"

#include "base/format.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("cache_folders: the home's, the runtime folder's, and that of /tmp") {
  const std::string temporary = format("/tmp/dtrain-{}", ::getuid());
  CHECK(cache_folders({{"HOME", "/h"}, {"XDG_RUNTIME_DIR", "/r"}}) ==
        std::vector<std::string>{"/h/.cache/dtrain", "/r/dtrain", temporary});
  CHECK(cache_folders({{"HOME", "relative"}}) == std::vector<std::string>{temporary});
}

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

TEST_CASE("answer_cache: in a job each line begins with its host") {
  const TemporaryFolder folder;
  const Environment environment = {{"HOME", folder.path()}, {"DTRAIN_HOSTNAME", "node1"}};
  folder.write(".cache/dtrain/" + std::string(64, 'a') + "/dtrain", "x");
  CHECK(answer_cache("list", environment).value().starts_with("node1:   0.0 MB  last used "));
}

}  // namespace
}  // namespace dt
