#include "examples/keras_like_fit/fit.h"
#include "tests/unit/comm/training/strategy/strategies.h"
#include "tests/unit/temporary_folder.h"

#include <numeric>

namespace keras_like_fit {
namespace {

TEST_CASE("the rate warms up from that of one replica to that of all") {
  dt::OneProcess one({.devices = 4});
  Model model(one.strategy);
  LearningRateWarmup warmup(2);
  warmup.on_batch_begin(model, 0);
  CHECK(model.rate == learning_rate);
  warmup.on_batch_begin(model, 1);
  CHECK(model.rate == doctest::Approx(2.5 * learning_rate));
  warmup.on_batch_begin(model, 2);
  CHECK(model.rate == doctest::Approx(4 * learning_rate));
  warmup.on_batch_begin(model, 9);
  CHECK(model.rate == doctest::Approx(4 * learning_rate));
}

TEST_CASE("all workers begin with the chief's weights, and see the metrics of all") {
  dt::World world({.size = 3});
  dt::check_all_well(world.run([](dtrain::Context& all) {
    dtrain::Strategy strategy =
        dt::make_strategy(all, {.name = "multi_worker_mirrored", .devices = 2});
    Model model(strategy);
    const auto rank = static_cast<double>(all.rank());
    model.own_weights.assign(feature_count, rank + 5);
    BroadcastAtStart().on_train_begin(model);
    CHECK(model.weights.read() == std::vector<double>(feature_count, 5));
    // Workers with more examples count more.
    Logs logs = {.loss_sum = 10 * rank, .right = rank, .examples = 2 * rank};
    MetricAverage().on_epoch_end(model, 1, logs);
    CHECK(logs.loss() == 5);
    CHECK(logs.accuracy() == 0.5);
  }));
}

TEST_CASE("the checkpoint has weights and epochs") {
  const dt::TemporaryFolder folder;
  const std::string file = folder.path() + "/saved";
  const std::vector<double> weights = {1, 2, 3, 4, 5};
  dt::OneProcess one;
  Model model(one.strategy);
  model.weights.write(weights);
  Logs logs;
  Checkpoint(file).on_epoch_end(model, 7, logs);
  dt::OneProcess other({.name = "one_device"});
  Model restored(other.strategy);
  other.strategy.restore(file);
  CHECK(restored.weights.read() == weights);
  CHECK(restored.epochs_done.read()[0] == 7);
}

}  // namespace
}  // namespace keras_like_fit
