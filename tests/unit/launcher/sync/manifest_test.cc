#include "launcher/sync/manifest.h"

#include "base/format.h"
#include "tests/unit/launcher/connect/message_form.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

using Kind = TreeEntry::Kind;

TreeEntry file(std::string path, uint64_t size = 3) {
  return {.path = std::move(path), .size = size, .digest = sha256(as_bytes("abc"))};
}

TreeEntry link(std::string path, std::string target) {
  return {.path = std::move(path), .kind = Kind::link, .target = std::move(target)};
}

TreeEntry folder(std::string path) {
  return {.path = std::move(path), .kind = Kind::folder};
}

std::string refusal(std::vector<TreeEntry> entries) {
  const Manifest manifest{.entries = std::move(entries)};
  const auto checked = check_manifest(manifest);
  if (checked) return "";
  CHECK(checked.error().code == Errc::input);
  CHECK(fault_of_message(checked.error().message) == "");
  // The hosts refuse the same, since the bytes may come from anybody.
  CHECK_FALSE(decode_manifest(encode(manifest)));
  return checked.error().message;
}

TEST_CASE("a manifest of files, links and folders with names of any bytes is read back") {
  Manifest manifest{.entries = {file("a\nb"), folder("empty"), link("src/link", "../a\nb"),
                                file("src/\xff\xfe", 0), file("srd/run")}};
  manifest.entries.back().executable = true;
  const auto read = decode_manifest(encode(manifest));
  REQUIRE(read);
  CHECK(*read == manifest);
  CHECK(read->total_bytes() == 6);
  CHECK(decode_manifest(encode(Manifest{})));
}

TEST_CASE("a manifest whose copy would not stay inside its root is refused by name") {
  const std::string long_name(256, 'n');
  std::string long_path = "p";
  while (long_path.size() <= Manifest::path_bytes_max)
    long_path += "/p";
  const std::vector<std::pair<std::vector<TreeEntry>, std::string>> table = {
      {{file("../x")}, "'../x' has '..' in its path"},
      {{file("a/../x")}, "'a/../x' has '..'"},
      {{file("./x")}, "'./x' has '.'"},
      {{file("/etc/passwd")}, "'/etc/passwd' has an absolute path"},
      {{file("")}, "'' has no name"},
      {{file("a//b")}, "'a//b' has an empty part"},
      {{file("a/")}, "'a/' has an empty part"},
      {{file(std::string("a\0b", 3))}, "has a NUL"},
      {{file(long_name)}, "has a name of 256 bytes"},
      {{file(long_path)}, "has a path of 4097 bytes"},
      {{file(".dtrain/manifest")}, "belongs to dtrain"},
      {{file(".dtrain")}, "belongs to dtrain"},
      {{link("a", "b"), file("a/x")}, "'a/x' lies below 'a'"},
      {{file("a"), file("a-b"), file("a/x/y")}, "'a/x/y' lies below 'a'"},
      {{file("b/a"), link("b/a-link", "a"), file("b/a/c")}, "'b/a/c' lies below 'b/a'"},
      {{folder("a"), file("a/x")}, "'a/x' lies below 'a'"},
      {{file("b"), file("a")}, "'a' is out of order"},
      {{file("a"), file("a")}, "'a' is there twice"},
      {{link("a", "/etc")}, "to '/etc', which is absolute"},
      {{link("a/b", "../../x")}, "outside of the tree"},
      {{link("a", "..")}, "outside of the tree"},
      {{link("d", "."), link("l", "d/../x")}, "goes up from the link 'd'"},
      {{link("d", "."), link("l", "d/e/../../x")}, "goes up from the link 'd'"},
      {{link("l", "")}, "without a target"},
      {{link("l", std::string("a\0b", 3))}, "NUL in its target"},
      {{file("a", uint64_t{1} << 40)}, "'a' has 1099511627776 bytes"},
      {{file("a", uint64_t{1} << 38), file("b", uint64_t{1} << 38), file("c", 1)},
       "'c' makes it larger"},
      {{file("a", UINT64_MAX), file("b", UINT64_MAX)}, "'a' has 18446744073709551615 bytes"},
  };
  for (const auto& [entries, message] : table) {
    const std::string refused = refusal(entries);
    CHECK_MESSAGE(refused.find(message) != std::string::npos, message, " is not in: ", refused);
  }
}

TEST_CASE("entries whose names only begin like another entry are no entries below it") {
  CHECK(refusal({file("a"), file("a-b/x"), file("a.c/x"), file("ab/x")}) == "");
  CHECK(refusal({file(".dtrainer"), file("a/..."), file("a/.dtrain/x")}) == "");
}

TEST_CASE("fields that belong to another kind are refused") {
  TreeEntry entry = link("a", "b");
  entry.size = 1;
  CHECK_FALSE(check_manifest({.entries = {entry}}));
  entry = folder("a");
  entry.executable = true;
  CHECK_FALSE(check_manifest({.entries = {entry}}));
  entry = file("a");
  entry.target = "b";
  CHECK_FALSE(check_manifest({.entries = {entry}}));
  entry = file("a");
  entry.kind = static_cast<Kind>(7);
  CHECK_FALSE(check_manifest({.entries = {entry}}));
}

TEST_CASE("bytes that are no manifest are refused, however many entries they declare") {
  Bytes bytes = encode(Manifest{.entries = {file("a"), link("b", "a")}});
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = decode_manifest(ByteSpan(bytes).first(size));
    REQUIRE_FALSE(cut);
    CHECK(cut.error().code == Errc::protocol);
  }
  bytes.push_back(std::byte{0});
  CHECK(decode_manifest(bytes).error().code == Errc::protocol);
  bytes.pop_back();
  bytes[8] = std::byte{4};
  CHECK(decode_manifest(bytes).error().code == Errc::protocol);
  bytes[4] = bytes[5] = bytes[6] = bytes[7] = std::byte{0xff};
  CHECK(decode_manifest(bytes).error().code == Errc::protocol);
}

TEST_CASE("a manifest of a million entries is refused before they are read") {
  Manifest manifest;
  manifest.entries.resize(1'000'000);
  for (size_t i = 0; i < manifest.entries.size(); ++i)
    manifest.entries[i] = {.path = format("{:07}", i), .kind = Kind::folder};
  const auto checked = check_manifest(manifest);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message.find("1000000 entries; at most 500000") != std::string::npos);
  const auto decoded = decode_manifest(encode(manifest));
  REQUIRE_FALSE(decoded);
  CHECK(decoded.error().code == Errc::input);
  const Bytes large(Manifest::bytes_max + 1);
  CHECK(decode_manifest(large).error().code == Errc::protocol);
}

TEST_CASE("a manifest that no host would read is refused where it is made") {
  Manifest manifest;
  const std::string folders = std::string(250, 'f') + "/" + std::string(250, 'g') + "/";
  while (manifest.entries.size() < 140'000)
    manifest.entries.push_back(file(format("{}{:07}", folders, manifest.entries.size())));
  const auto checked = check_manifest(manifest);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message.find("makes the list of its paths longer") != std::string::npos);
  // All entries have the same size. The largest list that fits is accepted by both sides.
  const size_t entry_bytes = (encode(manifest).size() - 8) / manifest.entries.size();
  manifest.entries.resize((Manifest::bytes_max - 8) / entry_bytes);
  CHECK(encode(manifest).size() <= Manifest::bytes_max);
  CHECK(encode(manifest).size() > Manifest::bytes_max - 600);
  CHECK(decode_manifest(encode(manifest)));
  manifest.entries.push_back(file("z"));
  manifest.entries.back().path = std::string(250, 'z') + "/" + std::string(250, 'z') + "/z";
  while (encode(manifest).size() <= Manifest::bytes_max)
    manifest.entries.push_back(file(manifest.entries.back().path + "z"));
  CHECK_FALSE(check_manifest(manifest));
}

TEST_CASE("a link stays inside while its target has at most as many .. as folders above it") {
  CHECK(link_escape("a", "b/c") == "");
  CHECK(link_escape("a/b/c", "../../x") == "");
  CHECK(link_escape("a/b/c", "../../../x") != "");
  CHECK(link_escape("a/b", "x/../../y") == "");
  CHECK(link_escape("a/b", "x/../../../y") != "");
  CHECK(link_escape("a", "././/b") == "");
  CHECK(link_escape("a", "/") != "");
}

}  // namespace
}  // namespace dt
