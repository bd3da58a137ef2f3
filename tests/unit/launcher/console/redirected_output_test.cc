#include "launcher/console/task_output.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>

#include <memory>
#include <string>

namespace dt {
namespace {

TEST_CASE("TaskOutput: redirected streams are in files, and not on the console") {
  const TemporaryFolder folder;
  const auto make = [&folder](const char* name) {
    return Fd(::open((folder.path() + "/" + name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  };
  const std::unique_ptr<Loop> loop = Loop::create().value();
  const Fd out_file = make("out");
  const Fd err_file = make("err");
  const auto out = Sink::open(*loop, out_file.get(), [](const Error&) {}).value();
  const auto err = Sink::open(*loop, err_file.get(), [](const Error&) {}).value();
  Log log(Log::Level::normal, [](std::string_view) {});
  Plan plan;
  for (int rank = 0; rank < 3; ++rank)
    plan.tasks.push_back({.id = {"worker", rank}, .rank = rank, .local_rank = rank});
  plan.world_size = 3;
  LocalStreams redirected;
  redirected.of_ranks[0] = {.output = true, .error = false};
  redirected.of_ranks[1] = {.output = true, .error = true};
  const auto output =
      TaskOutput::open(plan, {.folder = folder.path() + "/logs", .redirected = redirected}, *out,
                       *err, log)
          .value();
  int done = 0;
  for (size_t task = 0; task < 3; ++task) {
    output->add(task, TaskStream::output, as_bytes("out\n"), [&done] { ++done; });
    output->add(task, TaskStream::error, as_bytes("err\n"), [&done] { ++done; });
  }
  CHECK(done == 6);
  CHECK(folder.read("out") == "[2]<stdout>:out\n");
  CHECK(folder.read("err") == "[0]<stderr>:err\n[2]<stderr>:err\n");
  CHECK(folder.read("logs/rank.0/stdout") == "out\n");
  CHECK(folder.read("logs/rank.1/stderr") == "err\n");
  CHECK_FALSE(output->shows_last_errors(1));
}

}  // namespace
}  // namespace dt
