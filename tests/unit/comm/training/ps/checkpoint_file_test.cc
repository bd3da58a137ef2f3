#include "comm/training/ps/checkpoint_file.h"

#include "base/io/atomic_file.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace dt {
namespace {

TEST_CASE("a checkpoint is written whole, replaces an older one, and leaves no other file") {
  const TemporaryFolder folder;
  const std::string file = checkpoint_name(folder.path() + "/model", {1, 3});
  CHECK(file == folder.path() + "/model.ps-1-of-3");
  for (const std::string text : {"first", "second"}) {
    REQUIRE(write_checkpoint(file, MessageParts::of(to_bytes(text))));
    const SavedBytes saved = read_checkpoint(file, 1000).value();
    std::string content(saved.size, ' ');
    REQUIRE(saved.read(0, std::as_writable_bytes(std::span(content))));
    CHECK(content == text);
  }
  const std::filesystem::directory_iterator files(folder.path());
  CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("a file that cannot be written or read is named") {
  const TemporaryFolder folder;
  const std::string missing = folder.path() + "/none/model";
  const Result<> written = write_checkpoint(missing, {});
  REQUIRE_FALSE(written);
  CHECK(written.error().message == "checkpoint " + missing + ": No such file or directory");
  const auto read = read_checkpoint(missing, 1000);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Errc::not_found);
  CHECK(read.error().message == "checkpoint " + missing + ": there is no such file");
  const auto of_folder = read_checkpoint(folder.path(), 1000);
  REQUIRE_FALSE(of_folder);
  CHECK(of_folder.error().message == "checkpoint " + folder.path() + ": it is not a regular file");
}

TEST_CASE("a file that is too large for the memory is refused before it is read") {
  const TemporaryFolder folder;
  folder.write("model", "");
  std::filesystem::resize_file(folder.path() + "/model", uint64_t{40} << 30);
  const auto read = read_checkpoint(folder.path() + "/model", 1000);
  REQUIRE_FALSE(read);
  CHECK(read.error().message ==
        "checkpoint " + folder.path() +
            "/model: it has 42949672960 bytes, and there is memory for 1000");
}

TEST_CASE("a folder that takes no checkpoint is named before there is one") {
  const TemporaryFolder folder;
  CHECK(try_checkpoint(folder.path() + "/model", {}));
  CHECK(std::filesystem::is_empty(folder.path()));
  const Result<> tried = try_checkpoint(folder.path() + "/none/model", {});
  REQUIRE_FALSE(tried);
  CHECK(tried.error() ==
        Error{Errc::input, "checkpoints " + folder.path() +
                               "/none/model: no file can be made in the folder " + folder.path() +
                               "/none: No such file or directory; make the "
                               "folder, or choose another one"});
}

TEST_CASE("unfinished files of a server that died are removed at the next start") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  for (const std::string name : {"/model-5.ps-0-of-2.unfinished-055cf69d",
                                 "/model-5.ps-1-of-2.unfinished-055cf69d", "/model-4.ps-0-of-2"})
    std::ofstream(folder.path() + name) << "x";
  const AtomicFile living = AtomicFile::create(path + "-7.ps-0-of-2").value();
  CHECK(try_checkpoint(path, {0, 2}));
  CHECK_FALSE(std::filesystem::exists(path + "-5.ps-0-of-2.unfinished-055cf69d"));
  const std::filesystem::directory_iterator files(folder.path());
  CHECK(std::distance(begin(files), end(files)) == 3);
}

TEST_CASE("the steps of a server's own checkpoints are found, and old ones removed") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  const CheckpointPart part{0, 2};
  for (const uint64_t step : {9, 100, 20})
    REQUIRE(write_checkpoint(checkpoint_name(path, step, part), MessageParts::of(to_bytes("x"))));
  for (const std::string other : {"/model.ps-0-of-2", "/model-7.ps-1-of-2", "/model-x.ps-0-of-2",
                                  "/model-.ps-0-of-2", "/model-5.ps-0-of-2x", "/other-5.ps-0-of-2"})
    std::ofstream(folder.path() + other) << "x";
  CHECK(checkpoint_steps(path, part) == std::vector<uint64_t>{100, 20, 9});
  CHECK(checkpoint_files(path).size() == 4);
  CHECK(checkpoint_files(path).back().part == CheckpointPart{1, 2});
  remove_old_checkpoints(path, part, 2, 9);
  CHECK(checkpoint_steps(path, part) == std::vector<uint64_t>{100, 20, 9});
  remove_old_checkpoints(path, part, 2, 10);
  CHECK(checkpoint_steps(path, part) == std::vector<uint64_t>{100, 20});
  CHECK(put_later_aside(path, part, 20).value() == 1);
  CHECK(checkpoint_steps(path, part) == std::vector<uint64_t>{20});
  CHECK(std::filesystem::exists(folder.path() + "/model-100.ps-0-of-2.put-aside"));
  CHECK(checkpoint_steps(folder.path() + "/none/model", part).empty());
}

}  // namespace
}  // namespace dt
