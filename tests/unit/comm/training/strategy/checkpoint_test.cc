#include "comm/training/strategy/checkpoint.h"

#include "base/format.h"
#include "comm/training/strategy/saved_variables.h"
#include "tests/unit/comm/training/strategy/strategies.h"
#include "tests/unit/temporary_folder.h"

#include <fstream>
#include <iterator>

namespace dt {
namespace {

using dtrain::Aggregation;
using dtrain::Op;
using dtrain::Replica;
using dtrain::Synchronization;

const std::vector<double> weights = {1.5, -2, 3e-300};

/// The variables of a training: a mirrored one, a counter, and a sum of the replicas.
struct Training {
  explicit Training(dtrain::Strategy& strategy)
      : w(strategy.zeros<double>("w", 3)),
        step(strategy.zeros<int64_t>("step", 1)),
        total(strategy.zeros<float>("total", 2, {Synchronization::on_read, Aggregation::sum})) {}
  dtrain::Variable<double> w;
  dtrain::Variable<int64_t> step;
  dtrain::Variable<float> total;
};

void train_and_save(dtrain::Strategy& strategy, const std::string& path) {
  const Training training(strategy);
  training.w.write(weights);
  training.step.write(std::vector<int64_t>{42});
  training.total.write(std::vector<float>{12, 24});
  strategy.save(path);
}

void check_restored(dtrain::Strategy& strategy, const std::string& path) {
  const Training training(strategy);
  strategy.restore(path);
  CHECK(training.w.read() == weights);
  CHECK(training.step.read()[0] == 42);
  CHECK(training.total.read() == std::vector<float>{12, 24});
  strategy.run([&](Replica& replica) { CHECK(replica.data(training.w)[2] == 3e-300); });
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

TEST_CASE("a checkpoint is restored under any strategy and any number of replicas") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/saved";
  const TestedStrategy all[] = {{.name = "one_device"},
                                {.name = "mirrored", .devices = 1},
                                {.name = "mirrored", .devices = 3},
                                {.name = "central_storage", .devices = 2},
                                {.name = "multi_worker_mirrored", .devices = 2}};
  for (const TestedStrategy& saving : all) {
    OneProcess before(saving);
    train_and_save(before.strategy, path);
    for (const TestedStrategy& restoring : all) {
      OneProcess after(restoring);
      check_restored(after.strategy, path);
    }
  }
}

TEST_CASE("several workers save by the chief and restore what it reads") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/saved";
  const TestedStrategy several = {.name = "multi_worker_mirrored"};
  World world({.size = 3});
  check_all_well(world.run([&](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, several);
    train_and_save(strategy, path);
  }));
  OneProcess one({.devices = 1});
  check_restored(one.strategy, path);
  check_all_well(world.run([&](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, several);
    // The others have no file of that name.
    check_restored(strategy, all.rank() == 0 ? path : path + ".none");
  }));
}

TEST_CASE("a save replaces the file whole, and leaves nothing else") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/saved";
  OneProcess one;
  train_and_save(one.strategy, path);
  const std::string before = content_of(path);
  one.strategy.save(path);
  CHECK(content_of(path) == before);
  const auto files = std::filesystem::directory_iterator(folder.path());
  CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("a checkpoint that cannot be written or read is an error at every rank") {
  World world({.size = 2});
  check_all_well(world.run([&](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, {.name = "multi_worker_mirrored"});
    const std::string prefix = all.rank() == 0 ? "" : "rank 0: ";
    CHECK(error_text([&] { strategy.save("/none/saved"); }) ==
          prefix + "the checkpoint /none/saved cannot be written: No such file or directory");
    CHECK(error_text([&] {
            strategy.restore("/none/saved");
          }).starts_with(prefix + "the checkpoint /none/saved cannot be read: "));
    strategy.run([](Replica& replica) { CHECK(replica.any(true)); });
  }));
}

TEST_CASE("a truncated checkpoint is refused, wherever it ends") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/saved";
  OneProcess one;
  train_and_save(one.strategy, path);
  const std::string whole = content_of(path);
  for (size_t bytes = 1; bytes < whole.size(); ++bytes) {
    CAPTURE(bytes);
    write_file(path, whole.substr(0, bytes));
    const std::string text = error_text([&] { one.strategy.restore(path); });
    CHECK_MESSAGE(contains(text, "is a truncated checkpoint"), text);
  }
}

TEST_CASE("a checkpoint with one changed byte is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/saved";
  OneProcess one;
  train_and_save(one.strategy, path);
  const std::string whole = content_of(path);
  for (size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write_file(path, changed);
    CHECK_FALSE(CheckpointFile::open(path));
  }
  // A name longer than any is not read.
  write_file(path, whole.substr(0, std::string_view("dtrain checkpoint 1\n").size()) +
                       std::string("\0\0\1\0", 4) + std::string(size_t{1} << 17, 'n'));
  CHECK(CheckpointFile::open(path).error().message == format("{} is a damaged checkpoint", path));
  // A byte behind the end.
  write_file(path, whole + "x");
  CHECK(CheckpointFile::open(path).error().message == format("{} is a damaged checkpoint", path));
}

TEST_CASE("other files and other programs' checkpoints are refused by name") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/saved";
  write_file(path, "digits-checkpoint 1\n");
  CHECK(CheckpointFile::open(path).error() ==
        Error{Errc::input, format("{} is no checkpoint of dtrain", path)});
  write_file(path, "dtrain checkpoint 2\nmore");
  CHECK(CheckpointFile::open(path).error().message ==
        format("{} is a checkpoint of another version of dtrain", path));

  OneProcess one;
  train_and_save(one.strategy, path);
  const auto refusal = [&](const auto& declare) {
    OneProcess other;
    declare(other.strategy);
    return error_text([&] { other.strategy.restore(path); });
  };
  CHECK(refusal([](dtrain::Strategy& other) {
          const Training training(other);
          other.zeros<double>("more", 1);
        }) == format("{} does not fit to this program: it has no variable \"more\"", path));
  CHECK(refusal([](dtrain::Strategy& other) { other.zeros<double>("w", 3); }) ==
        format("{} does not fit to this program: it has a variable \"step\" more", path));
  CHECK(refusal([](dtrain::Strategy& other) { other.zeros<double>("w", 4); }) ==
        format("{} does not fit to this program: its variable \"w\" is float64[3], not float64[4]",
               path));
  CHECK(refusal([](dtrain::Strategy& other) { other.zeros<int64_t>("w", 3); }) ==
        format("{} does not fit to this program: its variable \"w\" is float64[3], not int64[3]",
               path));
}

}  // namespace
}  // namespace dt
