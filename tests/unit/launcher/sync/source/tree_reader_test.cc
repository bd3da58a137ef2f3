#include "launcher/sync/source/tree_reader.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace dt {
namespace {

namespace fs = std::filesystem;

TreeEntry entry_of(const std::string& path, const std::string& text) {
  return {.path = path, .size = text.size(), .digest = sha256(as_bytes(text))};
}

/// Reads a file to its end, in pieces.
Result<std::string> text_of(TreeReader& reader, const TreeEntry& entry) {
  TRY(reader.begin(entry));
  std::string text;
  while (true) {
    const ByteSpan piece = TRY(reader.read());
    CHECK(piece.size() <= TreeReader::piece_bytes_max);
    if (piece.empty()) return text;
    text += as_text(piece);
  }
}

TEST_CASE("files of a tree are read in pieces, and are those of the manifest") {
  const TemporaryFolder folder;
  const std::string large(300'000, 'x');
  folder.write("a/large", large);
  folder.write("empty", "");
  auto reader = TreeReader::open(folder.path());
  REQUIRE(reader);
  CHECK(text_of(*reader, entry_of("a/large", large)) == large);
  CHECK(text_of(*reader, entry_of("empty", "")) == "");
  CHECK(text_of(*reader, entry_of("a/large", large)) == large);
}

TEST_CASE("a file with another content, size or kind than in the manifest is named") {
  const TemporaryFolder folder;
  folder.write("same_size", "abd");
  folder.write("shorter", "ab");
  folder.write("folder/x", "abc");
  folder.write("target", "abc");
  fs::create_symlink("target", folder.path() + "/link");
  fs::create_symlink("folder", folder.path() + "/folder_link");
  auto reader = TreeReader::open(folder.path());
  REQUIRE(reader);
  for (const char* path : {"same_size", "shorter", "folder", "link", "folder_link/x", "none"}) {
    const auto text = text_of(*reader, entry_of(path, "abc"));
    REQUIRE_FALSE(text);
    CHECK(text.error().code == Errc::mismatch);
    CHECK(text.error().message == "--sync: the file '" + std::string(path) +
                                      "' changed while the tree was sent; run again");
  }
}

TEST_CASE("a file that changes its size while it is read is named") {
  const TemporaryFolder folder;
  for (const size_t size : {size_t{200'000}, size_t{50'000}}) {
    const std::string text(100'000, 'x');
    folder.write("file", text);
    auto reader = TreeReader::open(folder.path());
    REQUIRE(reader);
    REQUIRE(reader->begin(entry_of("file", text)));
    REQUIRE(reader->read());
    fs::resize_file(folder.path() + "/file", size);
    Result<ByteSpan> piece = ByteSpan();
    do {
      piece = reader->read();
    } while (piece && !piece->empty());
    REQUIRE_FALSE(piece);
    CHECK(piece.error().code == Errc::mismatch);
  }
}

}  // namespace
}  // namespace dt
