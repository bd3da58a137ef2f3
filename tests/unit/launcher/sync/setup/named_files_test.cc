#include "launcher/sync/setup/named_files.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

Digest digest_of(std::string_view text) {
  return sha256(as_bytes(text));
}

/// A tree whose commands run in the folder "sub".
SetupOrder usual_order() {
  return {.folder = "/trees/a/sub",
          .below = "sub",
          .files = {{"a file.txt", digest_of("space")},
                    {"lib/setup.py", digest_of("lib")},
                    {"lib.py", digest_of("beside lib")},
                    {"requirements.txt", digest_of("top")},
                    {"sub/requirements.txt", digest_of("sub")}}};
}

TEST_CASE("words of a shell's line are found behind operators, quotes and options") {
  using Words = std::vector<std::string>;
  const std::vector<std::pair<std::string, Words>> cases = {
      {"", {}},
      {"pip install -r a.txt", {"pip", "install", "-r", "a.txt"}},
      {"pip -ra.txt --file=b.txt", {"pip", "-ra.txt", "a.txt", "--file=b.txt", "b.txt"}},
      {"cd x&&./y<z|w;(v)", {"cd", "x", "./y", "z", "w", "v"}},
      {"cat 'a b' \"c 'd'\" e\\ f", {"cat", "a b", "c 'd'", "e f"}},
      {". ./env && pip install .", {"./env", "pip", "install", "."}},
      {"a\nb", {"a", "b"}}};
  for (const auto& [line, words] : cases) {
    CAPTURE(line);
    CHECK(path_words(line) == words);
  }
}

TEST_CASE("a command's digest changes with the files that it names, and with no others") {
  struct Row {
    std::string command;
    std::string changed;
    bool matters;
  };
  const Row rows[] = {
      {"pip install -r requirements.txt", "sub/requirements.txt", true},
      {"pip install -r requirements.txt", "requirements.txt", false},
      {"pip install -r ../requirements.txt", "requirements.txt", true},
      {"pip install -r $DTRAIN_CODE_DIR/requirements.txt", "requirements.txt", true},
      {"pip install -r ${DTRAIN_CODE_DIR}/requirements.txt", "requirements.txt", true},
      {"pip install -r /trees/a/requirements.txt", "requirements.txt", true},
      {"pip install -r /requirements.txt", "requirements.txt", false},
      {"pip install -r ../../requirements.txt", "requirements.txt", false},
      {"cat '../a file.txt'", "a file.txt", true},
      {"pip install ../lib", "lib/setup.py", true},
      {"pip install ../lib", "lib.py", false},
      {"pip install ..", "lib.py", true},
      {"pip install .", "lib.py", false},
      {"echo hello", "lib.py", false}};
  for (const Row& row : rows) {
    CAPTURE(row.command);
    CAPTURE(row.changed);
    SetupOrder order = usual_order();
    const auto before = named_contents(row.command, order);
    REQUIRE(before);
    order.files[row.changed] = digest_of("changed");
    CHECK((named_contents(row.command, order) != before) == row.matters);
  }
}

TEST_CASE("a file that is renamed counts as changed") {
  SetupOrder order = usual_order();
  const auto before = named_contents("pip install ../lib", order);
  auto node = order.files.extract("lib/setup.py");
  node.key() = "lib/setup.cfg";
  order.files.insert(std::move(node));
  CHECK(named_contents("pip install ../lib", order) != before);
}

TEST_CASE("without a list of files, those of the folder are read, and a folder is unknown") {
  const TemporaryFolder folder;
  folder.write("requirements.txt", "a==1\n");
  folder.write("lib/setup.py", "");
  const SetupOrder order{.folder = folder.path()};
  const std::string command = "pip install -r requirements.txt";
  const auto before = named_contents(command, order);
  REQUIRE(before);
  CHECK(named_contents(command, order) == before);
  folder.write("requirements.txt", "a==2\n");
  CHECK(named_contents(command, order) != before);
  CHECK(named_contents("echo none", order));
  CHECK(!named_contents("pip install lib", order));
  CHECK(!named_contents("pip install .", order));
}

}  // namespace
}  // namespace dt
