#include "examples/digits/trainer.h"

#include "tests/unit/comm/training/strategy/strategies.h"
#include "tests/unit/examples/digits/trained.h"
#include "tests/unit/temporary_folder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace digits {
namespace {

using dt::RankOutcome;
using dt::TemporaryFolder;
using dt::World;

constexpr std::size_t image_count = 50;
constexpr double tolerance = 1e-9;

Trained train(dtrain::Strategy& strategy, const Options& options,
              const std::vector<Image>& images) {
  Trainer trainer(strategy, options, images);
  trainer.start();
  Trained trained;
  while (trainer.epochs_done() < options.epochs) {
    trained.losses.push_back(trainer.train_epoch());
    if (!options.checkpoint.empty()) trainer.save();
  }
  trained.weights = trainer.weights();
  return trained;
}

Trained train_on(int size, const Options& options) {
  const std::vector<Image> images = example_images(image_count);
  return train_on_ranks(size, [&](dtrain::Context& context) {
    dtrain::Strategy strategy(context);
    return train(strategy, options, images);
  });
}

/// Trains in one process, under a strategy with so many devices.
Trained train_under(const char* name, int devices, const Options& options) {
  dt::OneProcess one({.name = name, .devices = devices});
  return train(one.strategy, options, example_images(image_count));
}

TEST_CASE("training does not depend on the number of ranks, whether they divide the batch or not") {
  for (const std::size_t batch : {1u, 7u, 16u, 1000u}) {
    CAPTURE(batch);
    const Options options{.epochs = 3, .batch = batch, .learning_rate = 0.01};
    const Trained alone = train_on(1, options);
    CHECK(alone.losses.back() < alone.losses.front());
    check_close(alone, train_on(2, options), tolerance);
    check_close(alone, train_on(3, options), tolerance);
  }
}

TEST_CASE("a batch for each rank is a batch and a rate multiplied by their number") {
  const Options each{.epochs = 2, .batch = 6, .batch_per_rank = true, .learning_rate = 0.01};
  const Options whole{.epochs = 2, .batch = 18, .learning_rate = 0.03};
  check_close(train_on(3, each), train_on(1, whole), tolerance);
}

TEST_CASE("a resumed training has the same bits as one that was not interrupted") {
  const TemporaryFolder folder;
  Options options{.epochs = 2, .batch = 8, .learning_rate = 0.01};
  options.checkpoint = folder.path() + "/saved";
  train_on(2, options);
  options.epochs = 5;
  options.resume = true;
  const Trained resumed = train_on(2, options);
  options.resume = false;
  const Trained whole = train_on(2, options);
  CHECK(resumed.losses.size() == 3);
  CHECK((resumed.weights == whole.weights));
}

TEST_CASE("with nothing left to train a resumed training ends at once") {
  const TemporaryFolder folder;
  Options options{.epochs = 2, .batch = 8};
  options.checkpoint = folder.path() + "/saved";
  const Trained trained = train_on(2, options);
  options.resume = true;
  const Trained resumed = train_on(2, options);
  CHECK(resumed.losses.empty());
  CHECK((resumed.weights == trained.weights));
}

TEST_CASE("training does not depend on the strategy or the number of devices") {
  const Options options{.epochs = 3, .batch = 16, .learning_rate = 0.01};
  const Trained alone = train_under("one_device", 1, options);
  for (const int devices : {1, 2, 3, 4}) {
    CAPTURE(devices);
    check_close(alone, train_under("mirrored", devices, options), tolerance);
    check_close(alone, train_under("central_storage", devices, options), tolerance);
  }
}

TEST_CASE("a training resumes under another strategy") {
  const TemporaryFolder folder;
  Options options{.epochs = 2, .batch = 8, .learning_rate = 0.01};
  options.checkpoint = folder.path() + "/saved";
  train_under("central_storage", 3, options);
  options.epochs = 5;
  options.resume = true;
  const Trained resumed = train_under("mirrored", 2, options);
  options.resume = false;
  Trained whole = train_under("one_device", 1, options);
  whole.losses.erase(whole.losses.begin(), whole.losses.begin() + 2);
  check_close(resumed, whole, tolerance);
}

TEST_CASE("a checkpoint that does not fit ends every rank with the reason") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/saved";
  train_under("mirrored", 1, {.epochs = 1, .seed = 7, .checkpoint = file});
  World world({.size = 2});
  const std::vector<RankOutcome> outcomes = world.run([&](dtrain::Context& context) {
    dtrain::Strategy strategy(context);
    train(strategy, {.checkpoint = file, .resume = true}, example_images(image_count));
  });
  for (const RankOutcome& outcome : outcomes)
    CHECK(outcome.text == file + ": this training began with another seed; give --seed 7");
}

TEST_CASE("a loss that is no longer a number ends every rank") {
  World world({.size = 2});
  const Options options{.epochs = 3, .batch = 8, .learning_rate = 1e300};
  const std::vector<RankOutcome> outcomes = world.run([&](dtrain::Context& context) {
    const std::vector<Image> images = example_images(image_count);
    dtrain::Strategy strategy(context);
    train(strategy, options, images);
  });
  for (const RankOutcome& outcome : outcomes) {
    CHECK(outcome.text ==
          "the loss is no longer a number in epoch 1; try a smaller --learning-rate");
  }
}

}  // namespace
}  // namespace digits
