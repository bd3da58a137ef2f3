#include "launcher/kept/job_logs.h"

#include "launcher/console/file_front.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

namespace dt {
namespace {

struct Shown {
  TemporaryFolder folder;
  std::string out;
  std::string err;

  JobLogs logs(std::optional<int64_t> tail = {}) {
    return JobLogs({.tail = tail}, [this](bool of_error, std::string_view text) {
      (of_error ? err : out) += text;
      return Result<>();
    });
  }
  LogFile file(const std::string& name, bool of_error = false) const {
    return {.path = folder.path() + "/" + name, .tag = "[" + name + "]", .of_error = of_error};
  }
  void append(const std::string& name, std::string_view text) const {
    std::ofstream(folder.path() + "/" + name, std::ios::app) << text;
  }
};

TEST_CASE_FIXTURE(Shown, "JobLogs: files that come later, and grow, have their tags") {
  JobLogs all = logs();
  all.add({file("a"), file("b", true)});
  CHECK_FALSE(all.show_new().value());
  append("a", "one\ntw");
  append("b", "bad\n");
  CHECK(all.show_new().value());
  CHECK(out == "[a]one\n");
  CHECK(err == "[b]bad\n");
  append("a", "o\nthree");
  all.add({file("a"), file("c")});
  append("c", "c\n");
  CHECK(all.show_new().value());
  CHECK(out == "[a]one\n[a]two\n[c]c\n");
  CHECK_FALSE(all.show_new().value());
  CHECK(all.finish().has_value());
  CHECK(out == "[a]one\n[a]two\n[c]c\n[a]three\n");
}

TEST_CASE_FIXTURE(Shown, "JobLogs: the last lines only") {
  append("a", "1\n2\n3\n");
  append("b", "1\n2\n3");
  append("c", "");
  JobLogs last = logs(2);
  last.add({file("a"), file("b"), file("c"), file("d")});
  CHECK(last.show_new().value());
  append("a", "4\n");
  CHECK(last.show_new().value());
  CHECK(last.finish().has_value());
  CHECK(out == "[a]2\n[a]3\n[b]2\n[a]4\n[b]3\n");
}

TEST_CASE_FIXTURE(Shown, "tail_offset: over more than one chunk, and none") {
  std::string text;
  for (int line = 0; line < 40000; ++line)
    text += std::to_string(line) + "\n";
  append("a", text);
  const Fd opened(::open((folder.path() + "/a").c_str(), O_RDONLY | O_CLOEXEC));
  const uint64_t size = text.size();
  CHECK(tail_offset(opened.get(), 0, size, 0) == size);
  CHECK(tail_offset(opened.get(), 0, size, 1) == size - 6);
  CHECK(tail_offset(opened.get(), 0, size, 20000) == size - 120000);
  CHECK(tail_offset(opened.get(), 0, size, 1000000) == 0);
  CHECK(tail_offset(opened.get(), 100, size, 1000000) == 100);
}

TEST_CASE_FIXTURE(Shown, "JobLogs: a file without its front begins with a note") {
  std::string text(8192, 'x');
  text += "\nlast\n";
  append("a", text);
  FileFront front = {.written = text.size()};
  const Fd opened(::open((folder.path() + "/a").c_str(), O_RDWR | O_CLOEXEC));
  drop_front(opened.get(), front, 4096);
  JobLogs all = logs();
  all.add({file("a")});
  CHECK(all.show_new().value() == (front.kept() > 0));
  if (front.kept() > 0) {
    CHECK(out == "[a]" + std::string(4096, 'x') + "\n[a]last\n");
    CHECK(err ==
          "dtrain: " + folder.path() + "/a: the oldest 4096 bytes were dropped (--keep-output)\n");
  }
  // Where a file was emptied, it is read from its front.
  REQUIRE(::ftruncate(opened.get(), 0) == 0);
  append("a", "new\n");
  CHECK(all.show_new().value());
  CHECK(out.ends_with("[a]new\n"));
}

TEST_CASE_FIXTURE(Shown, "JobLogs: a reader that has gone ends it") {
  append("a", "one\n");
  JobLogs all({}, [](bool, std::string_view) -> Result<> { return fail(Errc::closed, "gone"); });
  all.add({file("a")});
  CHECK(all.show_new().error().code == Errc::closed);
}

}  // namespace
}  // namespace dt
