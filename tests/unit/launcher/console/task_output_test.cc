#include "launcher/console/task_output.h"

#include "base/io/socket.h"
#include "tests/sim/job/virtual_loop.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace dt {
namespace {

struct Fixture {
  TemporaryFolder folder;
  std::unique_ptr<Loop> loop = Loop::create().value();
  Fd out_file = make("out");
  Fd err_file = make("err");
  std::unique_ptr<Sink> out = Sink::open(*loop, out_file.get(), [](const Error&) {}).value();
  std::unique_ptr<Sink> err = Sink::open(*loop, err_file.get(), [](const Error&) {}).value();
  std::string logged;
  Log log{Log::Level::normal, [this](std::string_view line) { logged += line; }};
  Plan plan;
  int done = 0;

  Fixture() {
    for (int rank = 0; rank < 11; ++rank) {
      plan.tasks.push_back({.id = {"worker", rank}, .rank = rank});
    }
    plan.tasks.push_back({.id = {"ps", 0}});
    plan.world_size = 11;
  }
  Fd make(const char* name) const {
    return Fd(::open((folder.path() + "/" + name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  void add(TaskOutput& output, size_t task, TaskStream stream, std::string_view text) {
    output.add(task, stream, as_bytes(text), [this] { ++done; });
  }
};

TEST_CASE_FIXTURE(Fixture, "TaskOutput: tagged lines on the console, bytes as they are in files") {
  const std::string logs = folder.path() + "/logs/deep";
  const auto output = TaskOutput::open(plan, {.folder = logs}, *out, *err, log).value();
  add(*output, 3, TaskStream::output, "half");
  add(*output, 3, TaskStream::output, " line\n");
  add(*output, 10, TaskStream::error, "no end");
  add(*output, 11, TaskStream::output, "from ps\n");
  output->end(10, TaskStream::error);
  CHECK(done == 4);
  CHECK(folder.read("out") == "[3]<stdout>:half line\n[ps:0]<stdout>:from ps\n");
  CHECK(folder.read("err") == "[10]<stderr>:no end\n");
  CHECK(folder.read("logs/deep/rank.03/stdout") == "half line\n");
  CHECK(folder.read("logs/deep/rank.10/stderr") == "no end");
  CHECK(folder.read("logs/deep/ps.0/stdout") == "from ps\n");
  CHECK(output->last_errors(10) == std::vector<std::string>{"no end"});
  CHECK(output->ended(10, TaskStream::error));
  CHECK_FALSE(output->ended(10, TaskStream::output));
  struct stat about = {};
  REQUIRE(stat((logs + "/rank.03").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0700);
}

TEST_CASE_FIXTURE(Fixture,
                  "TaskOutput: a prompt is written after silence, and its line continues") {
  const auto output = TaskOutput::open(plan, {.loop = loop.get()}, *out, *err, log).value();
  const auto written = [&](const std::string& text) {
    const Time deadline = Clock::now() + seconds(10);
    while (folder.read("out") != text && Clock::now() < deadline)
      CHECK(loop->run_once(deadline).has_value());
    CHECK(folder.read("out") == text);
  };
  add(*output, 0, TaskStream::output, "(Pdb) ");
  CHECK(folder.read("out").empty());
  written("[0]<stdout>:(Pdb) ");
  add(*output, 0, TaskStream::output, "next\nname: ");
  written("[0]<stdout>:(Pdb) next\n[0]<stdout>:name: ");
  // A line of another rank begins a new one, and so does the rest of the prompt's line then.
  add(*output, 1, TaskStream::output, "other\n");
  add(*output, 0, TaskStream::output, "x\n");
  CHECK(folder.read("out") ==
        "[0]<stdout>:(Pdb) next\n[0]<stdout>:name: \n[1]<stdout>:other\n[0]<stdout>:x\n");
  CHECK(done == 4);
}

TEST_CASE_FIXTURE(Fixture, "TaskOutput: no line stands behind another task's \\r in a file") {
  const auto output = TaskOutput::open(plan, {}, *out, *err, log).value();
  add(*output, 0, TaskStream::output, "10%\r20%\r");
  add(*output, 1, TaskStream::output, "other\n");
  add(*output, 0, TaskStream::output, "30%\r");
  add(*output, 0, TaskStream::output, "\n");
  CHECK(folder.read("out") ==
        "[0]<stdout>:10%\r[0]<stdout>:20%\r\n[1]<stdout>:other\n[0]<stdout>:30%\r\n");
}

TEST_CASE_FIXTURE(Fixture, "TaskOutput: a line whose rest waits for a slow console stays whole") {
  VirtualTime time;
  const auto turns = VirtualLoop::create(time, {}).value();
  const auto pass = [&](Duration duration) {
    time.now += duration;
    while (turns->turn()) {
    }
  };
  const Pipe pipe = make_pipe().value();
  REQUIRE(set_nonblocking(pipe.read.get()));
  const auto console = Sink::open(*turns, pipe.write.get(), [](const Error&) {}).value();
  std::string shown;
  const auto read_all = [&] {
    for (std::array<char, 65536> some{};;) {
      const ssize_t n = ::read(pipe.read.get(), some.data(), some.size());
      if (n <= 0) return;
      shown.append(some.data(), static_cast<size_t>(n));
      pass(Duration::zero());
    }
  };
  const auto output =
      TaskOutput::open(plan, {.tags = false, .loop = turns.get()}, *console, *err, log).value();
  const std::string many(size_t{128} << 10, '\n');
  add(*output, 0, TaskStream::output, many + "ha");
  pass(milliseconds(350));
  CHECK(done == 0);
  read_all();
  REQUIRE(done == 1);  // only now may the task send the rest
  pass(milliseconds(60));
  add(*output, 1, TaskStream::output, "other\n");
  add(*output, 0, TaskStream::output, "lf\n");
  pass(Duration::zero());
  read_all();
  CHECK(shown.substr(many.size()) == "other\nhalf\n");
}

TEST_CASE_FIXTURE(Fixture,
                  "TaskOutput knows whether the last errors are among the last lines shown") {
  struct Case {
    TaskOutput::Options options;
    int lines_of_others;
    bool shown;
  };
  for (const Case& c : {Case{{}, 0, true}, Case{{}, 10, true}, Case{{}, 100, false},
                        Case{{.tags = false}, 0, false}, Case{{.quiet = true}, 0, false},
                        Case{{.merged = true}, 0, false}}) {
    const auto output = TaskOutput::open(plan, c.options, *out, *err, log).value();
    const TaskStream stream = c.options.merged ? TaskStream::output : TaskStream::error;
    add(*output, 1, stream, "why\nand where\n");
    for (int i = 0; i < c.lines_of_others; ++i)
      add(*output, 2, stream, "other\n");
    CHECK(output->last_errors(1).size() == 2);
    CHECK(output->shows_last_errors(1) == c.shown);
  }
}

TEST_CASE_FIXTURE(Fixture, "TaskOutput: quiet shows nothing, without tags no tags") {
  const auto quiet = TaskOutput::open(plan, {.quiet = true}, *out, *err, log).value();
  add(*quiet, 0, TaskStream::output, "hidden\n");
  const auto bare = TaskOutput::open(plan, {.tags = false}, *out, *err, log).value();
  add(*bare, 0, TaskStream::output, "shown\n");
  CHECK(folder.read("out") == "shown\n");
  CHECK(done == 2);
}

TEST_CASE_FIXTURE(Fixture,
                  "TaskOutput: merged tasks have one file, and their last lines come from it") {
  const std::string logs = folder.path() + "/logs";
  const auto output =
      TaskOutput::open(plan, {.folder = logs, .merged = true}, *out, *err, log).value();
  add(*output, 0, TaskStream::output, "both\n");
  output->end(0, TaskStream::output);
  CHECK(output->ended(0, TaskStream::error));
  CHECK(output->last_errors(0) == std::vector<std::string>{"both"});
  CHECK(folder.read("out") == "[0]<stdout>:both\n");
  CHECK(folder.read("logs/rank.00/stdout") == "both\n");
  CHECK(access((logs + "/rank.00/stderr").c_str(), F_OK) != 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "TaskOutput: colours end with the tag, and each stream has its own setting") {
  const auto output = TaskOutput::open(plan, {.colored_out = true}, *out, *err, log).value();
  add(*output, 1, TaskStream::output, "a\n");
  add(*output, 2, TaskStream::output, "b\n");
  add(*output, 1, TaskStream::error, "c\n");
  CHECK(folder.read("out") == "\x1b[0;33m[1]<stdout>:\x1b[0ma\n\x1b[0;32m[2]<stdout>:\x1b[0mb\n");
  CHECK(folder.read("err") == "[1]<stderr>:c\n");
  CHECK(tag_color(plan.tasks[0]) == tag_color(plan.tasks[10]));
}

TEST_CASE_FIXTURE(Fixture, "TaskOutput: without a tag a blank separates the time from the line") {
  const auto output =
      TaskOutput::open(plan, {.tags = false, .timestamps = true}, *out, *err, log).value();
  add(*output, 0, TaskStream::output, "line\n");
  const std::string shown = folder.read("out");
  REQUIRE(shown.size() == std::string_view("Sun Jun 20 23:21:05 1993 line\n").size());
  CHECK(shown.ends_with(" line\n"));
}

TEST_CASE_FIXTURE(Fixture, "TaskOutput: a folder that cannot be made is an input error") {
  folder.write("file", "");
  const auto output =
      TaskOutput::open(plan, {.folder = folder.path() + "/file/logs"}, *out, *err, log);
  REQUIRE_FALSE(output.has_value());
  CHECK(output.error().code == Errc::input);
  CHECK(output.error().message ==
        "--output-dir: cannot make " + folder.path() + "/file/logs: Not a directory");
}

TEST_CASE_FIXTURE(Fixture, "TaskOutput follows no symbolic link in the place of a file") {
  folder.write("victim", "keep");
  folder.write("logs/rank.00/x", "");
  REQUIRE(symlink((folder.path() + "/victim").c_str(),
                  (folder.path() + "/logs/rank.00/stdout").c_str()) == 0);
  const auto output = TaskOutput::open(plan, {.folder = folder.path() + "/logs"}, *out, *err, log);
  CHECK_FALSE(output.has_value());
  CHECK(folder.read("victim") == "keep");
}

TEST_CASE_FIXTURE(Fixture, "TaskOutput: the streams and files of a restarted task continue") {
  plan.roles = {{.name = "worker", .count = 11, .restarts = 1}};
  const std::string logs = folder.path() + "/logs";
  const auto output = TaskOutput::open(plan, {.folder = logs}, *out, *err, log).value();
  add(*output, 0, TaskStream::output, "first");
  add(*output, 0, TaskStream::error, "cause\n");
  output->end(0, TaskStream::output);
  output->end(0, TaskStream::error);
  CHECK(output->last_errors(0) == std::vector<std::string>{"cause"});
  output->restarted(0);
  CHECK_FALSE(output->ended(0, TaskStream::output));
  CHECK(output->last_errors(0).empty());
  add(*output, 0, TaskStream::output, "second\n");
  output->end(0, TaskStream::output);
  CHECK(output->ended(0, TaskStream::output));
  CHECK(folder.read("out") == "[0]<stdout>:first\n[0]<stdout>:second\n");
  CHECK(folder.read("logs/rank.00/stdout") == "firstsecond\n");
  CHECK(output->counts()[0].stdout_bytes == 12);
}

TEST_CASE_FIXTURE(Fixture, "TaskOutput: the files of a rank continue in the next generation") {
  const std::string logs = folder.path() + "/logs";
  const auto output =
      TaskOutput::open(plan, {.folder = logs, .results = logs, .restarts = true}, *out, *err, log)
          .value();
  add(*output, 3, TaskStream::output, "epoch 1\n");
  add(*output, 3, TaskStream::error, "torn");
  add(*output, 3, TaskStream::result, "{}");
  for (size_t task = 0; task < plan.tasks.size(); ++task)
    for (const TaskStream stream : written_streams)
      output->end(task, stream);
  output->begin_generation("restart 1 of 2");
  CHECK_FALSE(output->ended(3, TaskStream::output));
  CHECK(output->last_errors(3).empty());
  add(*output, 3, TaskStream::output, "epoch 2\n");
  CHECK(folder.read("logs/rank.03/stdout") == "epoch 1\nrestart 1 of 2\nepoch 2\n");
  CHECK(folder.read("logs/rank.03/stderr") == "torn\nrestart 1 of 2\n");
  CHECK(folder.read("logs/rank.03/result").empty());
  CHECK(folder.read("logs/rank.04/stdout") == "restart 1 of 2\n");
  CHECK(folder.read("out") == "[3]<stdout>:epoch 1\n[3]<stdout>:epoch 2\n");
  CHECK(output->counts()[3].stdout_bytes == 16);
}

}  // namespace
}  // namespace dt
