#include "launcher/console/task_output.h"

#include "base/io/socket.h"
#include "tests/sim/job/virtual_loop.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

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
                  "TaskOutput: the console may have some local ranks only, files have all") {
  // Two hosts: ranks 0 and 1, then 2 and 3.
  for (size_t i = 0; i < 4; ++i)
    plan.tasks[i].local_rank = static_cast<int>(i % 2);
  const std::string logs = folder.path() + "/logs";
  const auto output =
      TaskOutput::open(plan, {.folder = logs, .shown_local_ranks = {1}}, *out, *err, log).value();
  for (size_t i = 0; i < 4; ++i) {
    add(*output, i, TaskStream::output, "out\n");
    add(*output, i, TaskStream::error, "err\n");
  }
  add(*output, 11, TaskStream::output, "from ps\n");
  CHECK(done == 9);
  CHECK(folder.read("out") == "[1]<stdout>:out\n[3]<stdout>:out\n");
  CHECK(folder.read("err") == "[1]<stderr>:err\n[3]<stderr>:err\n");
  CHECK(folder.read("logs/rank.00/stdout") == "out\n");
  CHECK(folder.read("logs/rank.02/stderr") == "err\n");
  CHECK(folder.read("logs/ps.0/stdout") == "from ps\n");
  // The report of a failure shows the lines that the console lacks.
  CHECK(output->last_errors(0) == std::vector<std::string>{"err"});
  CHECK_FALSE(output->shows_last_errors(0));
  CHECK(output->shows_last_errors(1));
}

TEST_CASE_FIXTURE(Fixture, "TaskOutput: a rank that gets another local rank appears or goes") {
  plan.tasks[0].local_rank = 0;
  plan.tasks[1].local_rank = 1;
  const auto output =
      TaskOutput::open(plan, {.shown_local_ranks = {1}, .restarts = true}, *out, *err, log).value();
  add(*output, 0, TaskStream::output, "a\n");
  add(*output, 1, TaskStream::output, "b\n");
  std::swap(plan.tasks[0].local_rank, plan.tasks[1].local_rank);
  REQUIRE(output->begin_generation(plan, "restart"));
  add(*output, 0, TaskStream::output, "c\n");
  add(*output, 1, TaskStream::output, "d\n");
  CHECK(folder.read("out") == "[1]<stdout>:b\n[0]<stdout>:c\n");
}

TEST_CASE_FIXTURE(Fixture,
                  "TaskOutput: a prompt is written after silence, and its line continues") {
  VirtualTime time;
  const auto turns = VirtualLoop::create(time, {}).value();
  const auto pass = [&](Duration duration) {
    time.now += duration;
    while (turns->turn()) {
    }
  };
  const auto output =
      TaskOutput::open(plan, {.loop = turns.get(), .answered = true}, *out, *err, log).value();
  add(*output, 0, TaskStream::output, "(Pdb) ");
  pass(milliseconds(50));
  CHECK(folder.read("out").empty());
  pass(milliseconds(150));
  CHECK(folder.read("out") == "[0]<stdout>:(Pdb) ");
  add(*output, 0, TaskStream::output, "next\nname: ");
  pass(milliseconds(200));
  CHECK(folder.read("out") == "[0]<stdout>:(Pdb) next\n[0]<stdout>:name: ");
  // A line of another rank begins a new one, and so does the rest of the prompt's line then.
  add(*output, 1, TaskStream::output, "other\n");
  add(*output, 0, TaskStream::output, "x\n");
  CHECK(folder.read("out") ==
        "[0]<stdout>:(Pdb) next\n[0]<stdout>:name: \n[1]<stdout>:other\n[0]<stdout>:x\n");
  CHECK(done == 4);
}

TEST_CASE_FIXTURE(Fixture,
                  "TaskOutput: where nobody answers, a line is whole although its task is slow") {
  VirtualTime time;
  const auto turns = VirtualLoop::create(time, {}).value();
  const auto pass = [&](Duration duration) {
    time.now += duration;
    while (turns->turn()) {
    }
  };
  const auto output =
      TaskOutput::open(plan, {.tags = false, .loop = turns.get()}, *out, *err, log).value();
  add(*output, 0, TaskStream::output, "12");
  pass(seconds(9));
  add(*output, 1, TaskStream::output, "other\n");
  add(*output, 0, TaskStream::output, "34\n5");
  CHECK(folder.read("out") == "other\n1234\n");
  pass(seconds(11));
  CHECK(folder.read("out") == "other\n1234\n5");
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
  REQUIRE(output->begin_generation(plan, "restart 1 of 2"));
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

/// Plans of one job whose size changes: ranks, then a server without rank.
struct Sizes : Fixture {
  std::string logs = folder.path() + "/logs";
  std::unique_ptr<TaskOutput> output;

  static Plan plan_of(int ranks) {
    Plan plan;
    for (int rank = 0; rank < ranks; ++rank)
      plan.tasks.push_back({.id = {"worker", rank}, .rank = rank});
    plan.tasks.push_back({.id = {"ps", 0}});
    plan.world_size = ranks;
    return plan;
  }
  void open(int ranks) {
    plan = plan_of(ranks);
    output =
        TaskOutput::open(plan, {.folder = logs, .results = logs, .restarts = true}, *out, *err, log)
            .value();
  }
  void print(size_t task, const std::string& text) { add(*output, task, TaskStream::output, text); }
  void end_all() const {
    for (size_t task = 0; task < plan.tasks.size(); ++task)
      for (const TaskStream stream : written_streams)
        output->end(task, stream);
  }
  void begin(int ranks, const std::string& line) {
    plan = plan_of(ranks);
    REQUIRE(output->begin_generation(plan, line));
  }
  uint64_t printed(size_t task) const { return output->counts().at(task).stdout_bytes; }
};

TEST_CASE_FIXTURE(Sizes, "TaskOutput: a task continues its files, tag and count by its identity") {
  open(2);
  print(1, "one\n");
  print(2, "server\n");
  end_all();
  begin(3, "grown");
  CHECK_FALSE(output->all_ended(3));
  print(1, "more\n");
  print(2, "new\n");
  print(3, "server again\n");
  CHECK(folder.read("logs/rank.1/stdout") == "one\ngrown\nmore\n");
  CHECK(folder.read("logs/rank.2/stdout") == "grown\nnew\n");
  CHECK(folder.read("logs/ps.0/stdout") == "server\ngrown\nserver again\n");
  CHECK(folder.read("out") ==
        "[1]<stdout>:one\n[ps:0]<stdout>:server\n[1]<stdout>:more\n[2]<stdout>:new\n"
        "[ps:0]<stdout>:server again\n");
  REQUIRE(output->counts().size() == 4);
  CHECK(printed(1) == 9);
  CHECK(printed(2) == 4);
  CHECK(printed(3) == 20);
}

TEST_CASE_FIXTURE(Sizes, "TaskOutput: tasks that a generation lacks keep their files, and return") {
  open(3);
  for (size_t task = 0; task < 4; ++task)
    print(task, "a\n");
  add(*output, 2, TaskStream::result, "{}");
  add(*output, 0, TaskStream::result, "{}");
  end_all();
  begin(1, "shrunk");
  REQUIRE(output->counts().size() == 2);
  print(0, "b\n");
  print(1, "b\n");
  CHECK(folder.read("logs/rank.0/stdout") == "a\nshrunk\nb\n");
  CHECK(folder.read("logs/ps.0/stdout") == "a\nshrunk\nb\n");
  CHECK(folder.read("logs/rank.2/stdout") == "a\n");
  CHECK(folder.read("logs/rank.2/result") == "{}");
  CHECK(folder.read("logs/rank.0/result").empty());
  end_all();
  begin(4, "grown");
  for (size_t task = 0; task < 5; ++task)
    print(task, "c\n");
  CHECK(folder.read("logs/rank.0/stdout") == "a\nshrunk\nb\ngrown\nc\n");
  CHECK(folder.read("logs/rank.2/stdout") == "a\ngrown\nc\n");
  CHECK(folder.read("logs/rank.3/stdout") == "grown\nc\n");
  CHECK(folder.read("logs/ps.0/stdout") == "a\nshrunk\nb\ngrown\nc\n");
  CHECK(folder.read("logs/rank.2/result").empty());
  CHECK(printed(2) == 4);
  CHECK(printed(4) == 6);
}

TEST_CASE_FIXTURE(Sizes, "TaskOutput: folders keep the digits of the first plan") {
  open(2);
  end_all();
  begin(12, "grown");
  print(3, "three\n");
  print(11, "eleven\n");
  CHECK(folder.read("logs/rank.3/stdout") == "grown\nthree\n");
  CHECK(folder.read("logs/rank.11/stdout") == "grown\neleven\n");
  CHECK(folder.read("logs/rank.1/stdout") == "grown\n");
  CHECK(logged.empty());
}

TEST_CASE_FIXTURE(Sizes, "TaskOutput: what a task left unfinished ends with its generation") {
  open(3);
  print(1, "half");
  print(2, "torn");
  begin(2, "shrunk");
  CHECK(folder.read("out") == "[2]<stdout>:torn\n");
  print(1, " line\n");
  CHECK(folder.read("out") == "[2]<stdout>:torn\n[1]<stdout>:half line\n");
  // The index of rank 2 is now that of the server.
  print(2, "server\n");
  CHECK(folder.read("logs/rank.2/stdout") == "torn");
  CHECK(folder.read("logs/ps.0/stdout") == "shrunk\nserver\n");
}

TEST_CASE_FIXTURE(Sizes, "TaskOutput: a prompt of an ended generation is no other task's line") {
  VirtualTime time;
  const auto turns = VirtualLoop::create(time, {}).value();
  plan = plan_of(2);
  output = TaskOutput::open(plan, {.loop = turns.get(), .restarts = true, .answered = true}, *out,
                            *err, log)
               .value();
  print(1, "rank 1> ");
  print(2, "server> ");
  begin(1, "");
  // Index 1 is now the server, whose line waits; index 2 does not exist.
  time.now += milliseconds(200);
  while (turns->turn())
    continue;
  CHECK(folder.read("out") == "[1]<stdout>:rank 1> \n[ps:0]<stdout>:server> ");
  output.reset();  // before its loop
}

TEST_CASE_FIXTURE(Sizes, "TaskOutput: a chunk that is written late counts for its own task") {
  // A socket, since the loss of a pipe's reader is also a signal.
  SocketPair pair = make_socketpair().value();
  const auto console = Sink::open(*loop, pair.ours.get(), [](const Error&) {}).value();
  plan = plan_of(3);
  output = TaskOutput::open(plan, {.restarts = true}, *console, *err, log).value();
  const std::string large(size_t{1} << 20, '\n');
  print(2, large);
  REQUIRE(done == 0);
  for (size_t task = 0; task < 4; ++task)
    output->end(task, TaskStream::output);
  begin(2, "");
  // The reader goes: the rest of the chunk is lost for rank 2, whose index the server has now.
  pair.theirs.reset();
  const Time deadline = Clock::now() + seconds(60);
  while (done == 0 && Clock::now() < deadline)
    REQUIRE(loop->run_once(deadline));
  REQUIRE(done == 1);
  CHECK(output->counts().at(2).lost_bytes == 0);
  begin(3, "");
  CHECK(output->counts().at(2).lost_bytes == large.size());
  CHECK(output->counts().at(3).lost_bytes == 0);
}

TEST_CASE_FIXTURE(Sizes, "TaskOutput: a new file that cannot be made leaves all as it was") {
  open(2);
  print(0, "a\n");
  end_all();
  folder.write("logs/rank.3/stdout/x", "");
  const auto begun = output->begin_generation(plan_of(4), "grown");
  REQUIRE_FALSE(begun.has_value());
  CHECK(begun.error().code == Errc::input);
  CHECK(begun.error().message.starts_with("--output-dir: "));
  CHECK(begun.error().message.find(logs + "/rank.3/stdout") != std::string::npos);
  CHECK(output->counts().size() == 3);
  CHECK(folder.read("logs/rank.0/stdout") == "a\n");
  CHECK(output->all_ended(0));
}

}  // namespace
}  // namespace dt
