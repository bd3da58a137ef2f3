#include "launcher/sync/server/fetching.h"

#include "launcher/sync/fetch/fetch_source.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("Fetching puts the files of a host into their folder") {
  const TemporaryFolder here;
  Fetching fetching({{"out", "none"}, {.folder = here.path(), .job = "j"}});
  const FetchedFile file = {.path = "out/a", .size = 4, .executable = true};
  REQUIRE(fetching.take(SyncMessage::file, encode(file)));
  REQUIRE(fetching.take(SyncMessage::file_bytes, as_bytes("da")));
  REQUIRE(fetching.take(SyncMessage::file_bytes, as_bytes("ta")));
  REQUIRE(fetching.take(SyncMessage::file_end, {}));
  REQUIRE(fetching.take(SyncMessage::fetched, encode(Fetched{.unmatched = {"none"}})));
  CHECK(here.read("out/a") == "data");
  REQUIRE(fetching.warnings().size() == 1);
  CHECK(fetching.warnings()[0].find("--fetch none") != std::string::npos);
}

TEST_CASE("Fetching copies from a tree on this machine") {
  const TemporaryFolder tree;
  const TemporaryFolder here;
  tree.write("out/a", "data");
  tree.write("other", "x");
  Fetching fetching({{"out"}, {.folder = here.path() + "/new", .job = "j"}});
  REQUIRE(fetching.copy_from(tree.path()));
  CHECK(here.read("new/out/a") == "data");
  CHECK_FALSE(std::filesystem::exists(here.path() + "/new/other"));
  CHECK(fetching.warnings().empty());
}

TEST_CASE("Fetching: a file without its end is dropped, and one warning names what is missing") {
  const TemporaryFolder here;
  Fetching fetching({{"out"}, {.folder = here.path(), .job = "j"}});
  fetching.set_host("node1");
  REQUIRE(fetching.take(SyncMessage::file, encode(FetchedFile{.path = "out/a", .size = 4})));
  REQUIRE(fetching.take(SyncMessage::file_bytes, as_bytes("da")));
  Fetched fetched;
  fetched.unreadable.add("out/a", "Input/output error");
  for (const char* path : {"out/b", "out/c", "out/d", "out/e"})
    fetched.left_out.add(path, "a FIFO");
  REQUIRE(fetching.take(SyncMessage::fetched, encode(fetched)));
  CHECK(std::filesystem::is_empty(here.path() + "/out"));
  CHECK(fetching.warnings() ==
        std::vector<std::string>{
            "--fetch: 1 file of node1 cannot be read: out/a (Input/output error)",
            "--fetch leaves out 4 names of node1, since only files and links that stay in the tree "
            "come back: out/b (a FIFO), out/c (a FIFO), out/d (a FIFO), …"});
}

TEST_CASE("Fetching: a file or link that cannot have its place here is left out, others come") {
  const TemporaryFolder here;
  std::filesystem::create_directory_symlink("/tmp", here.path() + "/out");
  Fetching fetching({{"*"}, {.folder = here.path(), .job = "j"}});
  fetching.set_host("node1");
  const std::vector<FetchedFile> files = {{.path = "out/dtrain-a", .size = 4},
                                          {.path = "b", .size = 4},
                                          {.path = "bad", .target = "/etc/passwd"},
                                          {.path = "good", .target = "b"}};
  for (const FetchedFile& file : files) {
    REQUIRE(fetching.take(SyncMessage::file, encode(file)));
    if (file.target.empty()) REQUIRE(fetching.take(SyncMessage::file_bytes, as_bytes("data")));
    REQUIRE(fetching.take(SyncMessage::file_end, {}));
  }
  REQUIRE(fetching.take(SyncMessage::fetched, encode(Fetched{})));
  CHECK(here.read("b") == "data");
  CHECK(std::filesystem::read_symlink(here.path() + "/good") == "b");
  CHECK_FALSE(std::filesystem::exists(std::filesystem::symlink_status(here.path() + "/bad")));
  REQUIRE(fetching.warnings().size() == 1);
  const std::string warning = fetching.warnings()[0];
  CAPTURE(warning);
  CHECK(warning.starts_with("--fetch leaves out 2 names of node1, since they have no place in "));
  CHECK(warning.find("out/dtrain-a (out is a link or a file here") != std::string::npos);
  CHECK(warning.find("bad (a link to '/etc/passwd', which is absolute)") != std::string::npos);
}

TEST_CASE("Fetching copies links, and warns of others, from a tree on this machine") {
  const TemporaryFolder tree;
  const TemporaryFolder here;
  tree.write("a", "data");
  std::filesystem::create_symlink("a", tree.path() + "/inside");
  std::filesystem::create_symlink("/etc/passwd", tree.path() + "/outside");
  Fetching fetching({{"*"}, {.folder = here.path(), .job = "j"}});
  REQUIRE(fetching.copy_from(tree.path()));
  CHECK(here.read("a") == "data");
  CHECK(std::filesystem::read_symlink(here.path() + "/inside") == "a");
  CHECK(fetching.warnings() ==
        std::vector<std::string>{
            "--fetch leaves out 1 name of this machine, since only files and links that stay in "
            "the tree come back: outside (a link to '/etc/passwd', which is absolute)"});
}

TEST_CASE(
    "Fetching: a folder that cannot be written is one warning, and a wrong message an error") {
  Fetching fetching({{"out"}, {.folder = "/proc/self/none", .job = "j"}});
  const FetchedFile file = {.path = "out/a", .size = 4};
  REQUIRE(fetching.take(SyncMessage::file, encode(file)));
  REQUIRE(fetching.take(SyncMessage::file_bytes, as_bytes("data")));
  REQUIRE(fetching.warnings().size() == 1);
  CHECK(fetching.warnings()[0].find("/proc/self/none") != std::string::npos);
  const TemporaryFolder here;
  Fetching other({{"out"}, {.folder = here.path(), .job = "j"}});
  const auto wrong = other.take(SyncMessage::file, as_bytes("x"));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == Errc::protocol);
}

TEST_CASE("the codec of a fetched file") {
  const FetchedFile file = {.path = "a b", .size = 1'000'000'000'000, .executable = true};
  CHECK(decode_fetched_file(encode(file)).value() == file);
  const FetchedFile link = {.path = "a", .target = "b"};
  CHECK(decode_fetched_file(encode(link)).value() == link);
  CHECK_FALSE(decode_fetched_file(as_bytes("a")));
}

}  // namespace
}  // namespace dt
