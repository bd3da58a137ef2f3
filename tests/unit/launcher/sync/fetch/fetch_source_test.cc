#include "launcher/sync/fetch/fetch_source.h"

#include "base/bytes.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace dt {
namespace {

std::vector<std::string> paths_of(const FetchMatch& match) {
  std::vector<std::string> paths;
  for (const FetchedFile& file : match.files)
    paths.push_back(file.path);
  return paths;
}

/// Acts as a user without rights of its own. Another user than root needs none of this.
class AsStranger {
 public:
  AsStranger() {
    if (geteuid() == 0) REQUIRE(seteuid(65534) == 0);
  }
  AsStranger(const AsStranger&) = delete;
  AsStranger& operator=(const AsStranger&) = delete;
  ~AsStranger() {
    if (getuid() == 0) CHECK(seteuid(0) == 0);
  }
};

TEST_CASE("match: patterns on the path, folders with all below, and no files of dtrain") {
  const TemporaryFolder folder;
  folder.write("tree/out/model.pt", "weights");
  folder.write("tree/out/deep/log.txt", "log");
  folder.write("tree/metrics.json", "{}", 0700);
  folder.write("tree/.dtrain/index", "x");
  folder.write("secret/key.pt", "secret");
  const std::string root = folder.path() + "/tree";
  std::filesystem::create_directory_symlink(folder.path() + "/secret", root + "/link");
  std::filesystem::create_symlink(folder.path() + "/secret/key.pt", root + "/key.pt");
  REQUIRE(::mkfifo((root + "/fifo.pt").c_str(), 0600) == 0);
  const FetchSource source = FetchSource::open(root).value();
  using Paths = std::vector<std::string>;
  const std::vector<std::pair<Paths, Paths>> cases = {
      {{"metrics.json"}, {"metrics.json"}},
      {{"out"}, {"out/deep/log.txt", "out/model.pt"}},
      {{"out/"}, {"out/deep/log.txt", "out/model.pt"}},
      // Without flags, "*" matches a slash, too.
      {{"*.pt"}, {"out/model.pt"}},
      {{"out/*.txt", "out/d*"}, {"out/deep/log.txt"}},
      {{"*"}, {"metrics.json", "out/deep/log.txt", "out/model.pt"}},
  };
  for (const auto& [patterns, paths] : cases) {
    const FetchMatch match = source.match(patterns).value();
    CHECK(paths_of(match) == paths);
    CHECK(match.missing.unmatched.empty());
  }
  const FetchMatch match = source.match({"none*", "metrics.json", "link/*", ".dtrain/*"}).value();
  CHECK(match.files == std::vector<FetchedFile>{{"metrics.json", 2, true}});
  CHECK(match.missing.unmatched == Paths{"none*", "link/*", ".dtrain/*"});
}

TEST_CASE("match: links that stay inside come behind the files, and all others are left out") {
  const TemporaryFolder folder;
  const std::string root = folder.path() + "/tree";
  folder.write("tree/out/model-9.pt", "weights");
  folder.write("tree/other/file", "x");
  namespace fs = std::filesystem;
  fs::create_symlink("model-9.pt", root + "/out/latest");
  fs::create_directory_symlink("../other", root + "/out/folder");
  fs::create_symlink("gone", root + "/out/dangling");
  fs::create_symlink("/etc/passwd", root + "/out/absolute");
  fs::create_symlink("../../x", root + "/out/up");
  fs::create_symlink("../top/../../x", root + "/out/up-from-a-link");
  fs::create_directory_symlink("out", root + "/top");
  REQUIRE(::mkfifo((root + "/out/fifo").c_str(), 0600) == 0);
  const FetchMatch match = FetchSource::open(root).value().match({"out"}).value();
  using Paths = std::vector<std::string>;
  CHECK(paths_of(match) == Paths{"out/model-9.pt", "out/dangling", "out/folder", "out/latest"});
  CHECK(match.files[2].target == "../other");
  CHECK(
      match.missing.left_out ==
      SomeEntries{4,
                  {"out/fifo (a FIFO)", "out/absolute (a link to '/etc/passwd', which is absolute)",
                   "out/up (a link to '../../x', which is outside of the tree)"}});
  CHECK(match.missing.unreadable.count == 0);
  CHECK(match.missing.unmatched.empty());
  // Names that no pattern wants are not counted.
  const FetchMatch other = FetchSource::open(root).value().match({"other"}).value();
  CHECK(other.missing == Fetched{});
}

TEST_CASE("match: a folder that cannot be listed is named where a pattern may match below it") {
  const TemporaryFolder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  folder.write("a", "1", 0644);
  folder.write("out/closed/b", "2");
  folder.write("out/c", "3", 0644);
  const std::string closed = folder.path() + "/out/closed";
  REQUIRE(::chmod((folder.path() + "/out").c_str(), 0755) == 0);
  REQUIRE(::chmod(closed.c_str(), 0) == 0);
  const FetchSource source = FetchSource::open(folder.path()).value();
  const SomeEntries named = {1, {"out/closed (Permission denied)"}};
  const std::vector<std::pair<std::string, SomeEntries>> cases = {
      {"out", named}, {"out/*", named}, {"*", named}, {"out/closed/b", named},
      {"a", {}},      {"a*", {}},       {"out/c", {}}};
  {
    const AsStranger stranger;
    for (const auto& [pattern, unreadable] : cases) {
      CAPTURE(pattern);
      const auto match = source.match({pattern});
      REQUIRE(match);
      CHECK(match->missing.unreadable == unreadable);
    }
    CHECK(paths_of(source.match({"*"}).value()) == std::vector<std::string>{"a", "out/c"});
  }
  REQUIRE(::chmod(closed.c_str(), 0700) == 0);
}

TEST_CASE("match: patterns that leave the tree are refused") {
  const TemporaryFolder folder;
  const FetchSource source = FetchSource::open(folder.path()).value();
  for (const char* pattern : {"", "/etc/passwd", "../x", "a/../../x", ".."}) {
    CAPTURE(pattern);
    CHECK(source.match({pattern}).error().code == Errc::input);
  }
  CHECK_FALSE(FetchSource::open(folder.path() + "/none"));
}

TEST_CASE("read: the bytes in pieces, up to the size at the beginning") {
  const TemporaryFolder folder;
  folder.write("a/b", "0123456789");
  const FetchSource source = FetchSource::open(folder.path()).value();
  FetchReader reader = source.read("a/b").value();
  folder.write("a/b", "0123456789 and more");
  std::string text;
  std::array<std::byte, 4> piece;
  while (const size_t count = reader.read(piece).value())
    text += as_text(ByteSpan(piece).first(count));
  CHECK(text == "0123456789");
}

TEST_CASE("read: no link is followed") {
  const TemporaryFolder folder;
  folder.write("outside/key", "secret");
  std::filesystem::create_directory(folder.path() + "/tree");
  std::filesystem::create_directory_symlink(folder.path() + "/outside",
                                            folder.path() + "/tree/folder");
  std::filesystem::create_symlink("../outside/key", folder.path() + "/tree/file");
  const FetchSource source = FetchSource::open(folder.path() + "/tree").value();
  for (const char* path : {"folder/key", "file", "../outside/key", "folder", "none"}) {
    CAPTURE(path);
    CHECK_FALSE(source.read(path));
  }
  CHECK(source.read("none").error().message == "No such file or directory");
}

}  // namespace
}  // namespace dt
