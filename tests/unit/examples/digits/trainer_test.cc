#include "examples/digits/trainer.h"

#include "tests/unit/comm/strategy/strategies.h"
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

std::vector<Image> example_images() {
  std::vector<Image> images(50);
  for (std::size_t n = 0; n < images.size(); n++) {
    images[n].digit = n % digit_count;
    for (std::size_t i = 0; i < pixel_count; i++) {
      images[n].pixels[i] = static_cast<double>((i * images[n].digit + n) % 17) / 16;
    }
  }
  return images;
}

struct Trained {
  std::vector<double> losses;
  Network::Values weights;

  friend bool operator==(const Trained&, const Trained&) = default;
};

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

/// Trains on `size` ranks. Checks that they end with the same bits, and returns these.
Trained train_on(int size, const Options& options) {
  const std::vector<Image> images = example_images();
  World world({.size = size});
  std::mutex mutex;
  std::map<int, Trained> trained;
  dt::check_all_well(world.run([&](dtrain::Context& context) {
    dtrain::Strategy strategy(context);
    Trained ours = train(strategy, options, images);
    const std::lock_guard lock(mutex);
    trained[context.rank()] = std::move(ours);
  }));
  REQUIRE(trained.size() == static_cast<std::size_t>(size));
  for (const auto& [rank, theirs] : trained)
    CHECK((theirs == trained[0]));
  return trained[0];
}

/// Trains in one process, under a strategy with so many devices.
Trained train_under(const char* name, int devices, const Options& options) {
  dt::OneProcess one({.name = name, .devices = devices});
  return train(one.strategy, options, example_images());
}

void check_close(const Trained& a, const Trained& b) {
  REQUIRE(a.losses.size() == b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); i++) {
    CHECK(a.losses[i] == doctest::Approx(b.losses[i]).epsilon(1e-9));
  }
  double worst = 0;
  for (std::size_t t = 0; t < a.weights.size(); t++)
    for (std::size_t i = 0; i < a.weights[t].size(); i++)
      worst = std::max(worst, std::abs(a.weights[t][i] - b.weights[t][i]));
  CHECK(worst < 1e-9);
}

TEST_CASE("training does not depend on the number of ranks, whether they divide the batch or not") {
  for (const std::size_t batch : {1u, 7u, 16u, 1000u}) {
    CAPTURE(batch);
    const Options options{.epochs = 3, .batch = batch, .learning_rate = 0.01};
    const Trained alone = train_on(1, options);
    CHECK(alone.losses.back() < alone.losses.front());
    check_close(alone, train_on(2, options));
    check_close(alone, train_on(3, options));
  }
}

TEST_CASE("a batch for each rank is a batch and a rate multiplied by their number") {
  const Options each{.epochs = 2, .batch = 6, .batch_per_rank = true, .learning_rate = 0.01};
  const Options whole{.epochs = 2, .batch = 18, .learning_rate = 0.03};
  check_close(train_on(3, each), train_on(1, whole));
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
    check_close(alone, train_under("mirrored", devices, options));
    check_close(alone, train_under("central_storage", devices, options));
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
  check_close(resumed, whole);
}

TEST_CASE("a checkpoint that does not fit ends every rank with the reason") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/saved";
  train_under("mirrored", 1, {.epochs = 1, .seed = 7, .checkpoint = file});
  World world({.size = 2});
  const std::vector<RankOutcome> outcomes = world.run([&](dtrain::Context& context) {
    dtrain::Strategy strategy(context);
    train(strategy, {.checkpoint = file, .resume = true}, example_images());
  });
  for (const RankOutcome& outcome : outcomes)
    CHECK(outcome.text == file + ": this training began with another seed; give --seed 7");
}

TEST_CASE("a loss that is no longer a number ends every rank") {
  World world({.size = 2});
  const Options options{.epochs = 3, .batch = 8, .learning_rate = 1e300};
  const std::vector<RankOutcome> outcomes = world.run([&](dtrain::Context& context) {
    const std::vector<Image> images = example_images();
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
