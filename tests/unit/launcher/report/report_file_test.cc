#include "launcher/report/report_file.h"

#include "tests/unit/another_user.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace dt {
namespace {

struct Fixture {
  TemporaryFolder folder;
  std::string path = folder.path() + "/report.json";

  ptrdiff_t entries() const {
    const std::filesystem::directory_iterator all(folder.path());
    return std::distance(begin(all), end(all));
  }
  std::string refusal(const std::string& of) const {
    const auto opened = ReportFile::open(of);
    return opened ? "accepted" : opened.error().message;
  }
};

TEST_CASE_FIXTURE(Fixture,
                  "ReportFile: before the text there is no file, and afterwards only the text") {
  auto file = ReportFile::open(path).value();
  CHECK(entries() == 0);
  REQUIRE(file.write("{}\n").has_value());
  CHECK(folder.read("report.json") == "{}\n");
  CHECK(entries() == 1);
  struct stat about = {};
  REQUIRE(stat(path.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
}

TEST_CASE_FIXTURE(Fixture, "ReportFile removes an older file at once, and writes as a whole") {
  folder.write("report.json", "an older and longer one");
  auto file = ReportFile::open(path).value();
  CHECK_FALSE(std::filesystem::exists(path));
  REQUIRE(file.write("new").has_value());
  CHECK(folder.read("report.json") == "new");
}

TEST_CASE_FIXTURE(Fixture, "ReportFile: a path that cannot be written is refused before the job") {
  folder.write("file", "");
  const std::string start = "--report: cannot write " + folder.path();
  CHECK(refusal(folder.path() + "/file/report.json") ==
        start + "/file/report.json: Not a directory");
  CHECK(refusal(folder.path()) == start + ": it is a folder");
  CHECK(refusal(folder.path() + "/new/") == start + "/new/: it is a folder");
  CHECK(ReportFile::open(folder.path()).error().code == Errc::input);
  CHECK(refusal(folder.path() + "/" + std::string(300, 'x')).ends_with("File name too long"));
}

TEST_CASE_FIXTURE(Fixture, "ReportFile neither follows nor replaces a link to a file") {
  folder.write("victim", "keep");
  REQUIRE(symlink((folder.path() + "/victim").c_str(), path.c_str()) == 0);
  CHECK(refusal(path).ends_with("it is a symbolic link; give the file itself"));
  CHECK(folder.read("victim") == "keep");
}

TEST_CASE_FIXTURE(Fixture, "ReportFile: a file or FIFO of another user is refused at once") {
  const std::string refused = "--report: cannot write " + path +
                              ": it belongs to another user; remove it, or give another name";
  folder.write("report.json", "keep", 0666);
  if (!give_to_another_user(path)) return;
  CHECK(refusal(path) == refused);
  CHECK(folder.read("report.json") == "keep");
  std::filesystem::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0666) == 0);
  REQUIRE(give_to_another_user(path));
  const Fd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  CHECK(refusal(path) == refused);
}

TEST_CASE_FIXTURE(Fixture, "ReportFile writes directly to a pipe, which needs a reader") {
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(refusal(path).ends_with("nobody reads it"));
  const Fd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto file = ReportFile::open(path).value();
  REQUIRE(file.write("text").has_value());
  char buffer[16];
  CHECK(::read(reader.get(), buffer, sizeof buffer) == 4);
  CHECK(entries() == 1);
}

TEST_CASE("ReportFile: a device stays what it is") {
  auto file = ReportFile::open("/dev/null").value();
  CHECK(file.write("text").has_value());
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE_FIXTURE(Fixture, "ReportFile: makes the folders of the report, as --output-dir does") {
  auto file = ReportFile::open(folder.path() + "/art/deep/r.json").value();
  REQUIRE(file.write("text").has_value());
  CHECK(folder.read("art/deep/r.json") == "text");
}

TEST_CASE_FIXTURE(
    Fixture, "ReportFile: a folder that was removed meanwhile is an error, and nothing is left") {
  std::filesystem::create_directory(folder.path() + "/gone");
  auto file = ReportFile::open(folder.path() + "/gone/r").value();
  std::filesystem::remove(folder.path() + "/gone");
  const auto written = file.write("text");
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().message.ends_with("/gone/r: No such file or directory"));
}

TEST_CASE("ReportFile without a path writes nothing") {
  auto file = ReportFile::open(std::nullopt).value();
  CHECK(file.write("text").has_value());
}

}  // namespace
}  // namespace dt
