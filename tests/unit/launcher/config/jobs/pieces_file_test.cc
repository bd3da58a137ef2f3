#include "launcher/config/jobs/pieces_file.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace dt {
namespace {

TEST_CASE("pieces are those of the named file, or of the user's own if nobody else may write it") {
  const TemporaryFolder folder;
  const std::string own = folder.path() + "/dtrain/pieces.toml";
  const Environment environment = {{"XDG_CONFIG_HOME", folder.path()}};
  CHECK(read_pieces_file("", environment).error().message.starts_with("there is no " + own));
  std::filesystem::create_directory(folder.path() + "/dtrain");
  std::ofstream(own) << "[env.a]\n";
  ::chmod(own.c_str(), 0644);
  CHECK(read_pieces_file("", environment).value().path == own);
  CHECK(read_pieces_file("", environment).value().text == "[env.a]\n");
  CHECK(read_pieces_file("", {}).error().message.starts_with("HOME is not set"));
  ::chmod(own.c_str(), 0666);
  CHECK(read_pieces_file("", environment).error().message ==
        own + " is not used: other users may write it (mode 0666; try: chmod go-w)");
  // A named file is the user's choice.
  CHECK(read_pieces_file(own, {}).value().text == "[env.a]\n");
  CHECK(read_pieces_file("missing", {}).error().message ==
        "--pieces: cannot read \"missing\": No such file or directory");
}

}  // namespace
}  // namespace dt
