#include "comm/training/ps/served_part.h"

#include "base/io/fd.h"
#include "tests/unit/comm/training/ps/state/tensors.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {
namespace {

/// A part of one worker, with one variable.
ServedPart part_with(ServedPart::Files files, PartCopy::Role role = PartCopy::Role::head) {
  return {PartCopy({.workers = {{.id = {"worker", 0}, .host = "a", .takes_part = true}}}, role),
          std::move(files)};
}

void ask(ServedPart& part, uint32_t number, const PsRequest& request) {
  const auto body = std::make_shared<const Bytes>(encode(request));
  part.copy().take(PsIncoming{0, number, body, *body});
}

void declare(ServedPart& part) {
  const DeclaredWhole one(0, plain_variable("w", {1}), {5});
  ask(part, 1, one.request);
}

void push(ServedPart& part) {
  const Bytes gradient = bytes_of<float>({1});
  ask(part, 2, PushRequest{.gradients = {{.shard = 0, .values = gradient}}});
}

/// Asks for a file, and returns the error of the reply; "good": none.
std::string answer(ServedPart& part, const PsRequest& request) {
  part.copy().take_deliveries();
  ask(part, 3, request);
  part.serve_files();
  const auto deliveries = part.copy().take_deliveries();
  REQUIRE(deliveries.size() == 1);
  const PsReply reply = decode_ps_reply(deliveries[0].reply.joined()).value();
  return reply.error ? reply.error->message : "good";
}

TEST_CASE("workers save and load the file of a part") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  ServedPart part = part_with({});
  declare(part);
  CHECK(answer(part, SaveRequest{.path = path}) == "good");
  push(part);
  CHECK(part.copy().state().step() == 1);
  CHECK(answer(part, LoadRequest{.path = path, .check_only = true}) == "good");
  CHECK(part.copy().state().step() == 1);
  CHECK(answer(part, LoadRequest{.path = path}) == "good");
  CHECK(part.copy().state().step() == 0);
  CHECK(answer(part, LoadRequest{.path = path + "2"}) ==
        "checkpoint " + path + "2.ps-0-of-1: there is no such file");
  REQUIRE(write_checkpoint(path + ".ps-0-of-1", MessageParts::of(to_bytes("other"))));
  CHECK(answer(part, LoadRequest{.path = path}) ==
        "checkpoint " + path + ".ps-0-of-1: it is no checkpoint of this version of dtrain");
}

TEST_CASE("a part keeps a checkpoint of every so many steps, and one at the end") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  const ServedPart::Files files{.checkpoint = path, .checkpoint_every = 2};
  ServedPart part = part_with(files);
  declare(part);
  for (int step = 1; step <= 3; ++step) {
    push(part);
    CHECK(part.keep_checkpoint());
  }
  CHECK(checkpoint_steps(path, {}) == std::vector<uint64_t>{2});
  CHECK(part.end());
  CHECK(checkpoint_steps(path, {}) == std::vector<uint64_t>{3, 2});
  ServedPart again = part_with(files);
  CHECK(again.restore(3).value() == path + "-3.ps-0-of-1");
  CHECK(again.copy().state().save().joined() == part.copy().state().save().joined());
  CHECK_FALSE(again.restore(4));
}

TEST_CASE("after a load of an earlier step, the files of later ones are put aside") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  ServedPart part = part_with({.checkpoint = path, .checkpoint_every = 1});
  declare(part);
  push(part);
  CHECK(answer(part, SaveRequest{.path = folder.path() + "/best"}) == "good");
  for (int step = 1; step <= 4; ++step) {
    CHECK(part.keep_checkpoint());
    push(part);
  }
  CHECK(checkpoint_steps(path, {}) == std::vector<uint64_t>{4, 3, 2});
  CHECK(answer(part, LoadRequest{.path = folder.path() + "/best"}) == "good");
  CHECK(checkpoint_steps(path, {}).empty());
  CHECK(part.keep_checkpoint());
  CHECK(checkpoint_steps(path, {}) == std::vector<uint64_t>{1});
  CHECK(std::filesystem::exists(path + "-4.ps-0-of-1.put-aside"));
}

TEST_CASE("files without a newer one that all parts have are kept") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  std::optional<uint64_t> common;
  ServedPart part = part_with(
      {.checkpoint = path,
       .checkpoint_every = 1,
       .newest_common = [&](CheckpointPart, const std::vector<uint64_t>&) { return common; }});
  declare(part);
  for (int step = 1; step <= 5; ++step) {
    push(part);
    CHECK(part.keep_checkpoint());
  }
  CHECK(checkpoint_steps(path, {}) == std::vector<uint64_t>{5, 4, 3, 2, 1});
  common = 2;
  push(part);
  CHECK(part.keep_checkpoint());
  CHECK(checkpoint_steps(path, {}) == std::vector<uint64_t>{6, 5, 4, 3, 2});
}

/// Returns a size of this process in KiB.
long memory_field(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::stol(line.substr(field.size()));
  return 0;
}

/// Returns how much memory the call needs at most, in KiB, in a process of its own.
long memory_of(const std::function<bool()>& call) {
  const Pipe pipe = make_pipe().value();
  const pid_t child = fork();
  if (child == 0) {
    const long before = memory_field("VmRSS:");
    const long needed = call() ? memory_field("VmHWM:") - before : 0;
    _exit(write(pipe.write.get(), &needed, sizeof needed) == sizeof needed ? 0 : 1);
  }
  long needed = 0;
  REQUIRE(read(pipe.read.get(), &needed, sizeof needed) == sizeof needed);
  waitpid(child, nullptr, 0);
  return needed;
}

TEST_CASE("checkpoints need little memory beside the variables") {
  const TemporaryFolder folder;
  const ServedPart::Files files{.checkpoint = folder.path() + "/model", .checkpoint_every = 1};
  const auto train = [](ServedPart& part) {
    VariableSpec variable = plain_variable("w", {uint64_t{13} << 20});
    variable.optimizer = {.kind = OptimizerKind::adagrad, .learning_rate = 0.1};
    ask(part, 1,
        DeclareRequest{.variables = {variable},
                       .shards = {{.shard = {.rows = variable.rows()}}},
                       .initializes = true});
    const Bytes row(sizeof(int64_t));
    const Bytes value = bytes_of<float>({1});
    ask(part, 2,
        PushRequest{.gradients = {{.shard = 0, .sparse = true, .rows = row, .values = value}}});
    return part.copy().state().step() == 1;
  };
  const long without = memory_of([&] {
    ServedPart part = part_with({});
    return train(part);
  });
  CHECK(without > 100'000);
  const long saving = memory_of([&] {
    ServedPart part = part_with(files);
    return train(part) && part.keep_checkpoint().has_value();
  });
  const long restoring = memory_of([&] {
    ServedPart part = part_with(files);
    return part.restore(1).has_value();
  });
  for (const long with : {saving, restoring}) {
    CHECK(with > 100'000);
    CHECK(with < without / 5 * 6);
  }
}

TEST_CASE("a replica makes no files") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  ServedPart part = part_with({.checkpoint = path}, PartCopy::Role::replica);
  CHECK(part.end());
  part.serve_files();
  CHECK(checkpoint_steps(path, {}).empty());
}

}  // namespace
}  // namespace dt
