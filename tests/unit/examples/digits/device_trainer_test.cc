#include "examples/digits/device_trainer.h"

#include "examples/digits/trainer.h"
#include "tests/unit/comm/training/strategy/strategies.h"
#include "tests/unit/examples/digits/trained.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace digits {
namespace {

using dt::World;

/// Memory of the host, and loops: all is done when a call returns.
class HostDevice {
 public:
  explicit HostDevice(dtrain::Context& world) : world_(world) {}

  template <class T>
  T* allocate(std::size_t count) {
    // A GPU's memory has no defined values at first. As double these bytes are no number.
    memory_.emplace_back(count * sizeof(T), std::byte{0xFF});
    return reinterpret_cast<T*>(memory_.back().data());
  }
  template <class T>
  void upload(T* to, std::span<const T> values) {
    std::ranges::copy(values, to);
  }
  template <class T>
  void download(std::span<T> values, const T* from) {
    std::copy_n(from, values.size(), values.begin());
  }
  template <class Function>
  void for_each(std::size_t count, const Function& function) {
    for (std::size_t i = 0; i < count; i++)
      function(i);
  }
  void all_reduce(std::span<double> values) { world_.all_reduce(values); }

 private:
  dtrain::Context& world_;
  std::vector<std::vector<std::byte>> memory_;
};

constexpr std::size_t image_count = 41;

Trained train(EpochTrainer& trainer, const Options& options) {
  Trained trained;
  while (trainer.epochs_done() < options.epochs)
    trained.losses.push_back(trainer.train_epoch());
  trained.weights = trainer.weights();
  return trained;
}

Trained train_by_strategy(const Options& options) {
  const std::vector<Image> images = example_images(image_count);
  dt::OneProcess one({.name = "one_device", .devices = 1});
  Trainer trainer(one.strategy, options, images);
  return train(trainer, options);
}

Trained train_on_devices(int size, const Options& options) {
  const std::vector<Image> images = example_images(image_count);
  return train_on_ranks(size, [&](dtrain::Context& context) {
    HostDevice device(context);
    DeviceTrainer trainer(device, context, options, images);
    return train(trainer, options);
  });
}

TEST_CASE("on a device, losses and weights are those of the CPU's trainer") {
  // Some ranks have no image of a batch of 1, nor of the last one of 41 images by 20.
  for (const std::size_t batch : {1u, 7u, 20u, 1000u}) {
    CAPTURE(batch);
    const Options options{.epochs = 2, .batch = batch, .learning_rate = 0.01, .seed = 5};
    const Trained expected = train_by_strategy(options);
    CHECK(expected.losses.back() < expected.losses.front());
    for (const int size : {1, 2, 3})
      check_close(train_on_devices(size, options), expected, 1e-10);
  }
}

TEST_CASE("on devices, a batch for each rank is a batch and a rate multiplied by their number") {
  const Options each{.epochs = 2, .batch = 6, .batch_per_rank = true, .learning_rate = 0.01};
  const Options whole{.epochs = 2, .batch = 18, .learning_rate = 0.03};
  check_close(train_on_devices(3, each), train_by_strategy(whole), 1e-10);
}

TEST_CASE("a loss that is no number ends the training of every rank") {
  const std::vector<Image> images = example_images(image_count);
  const Options options{.epochs = 9, .batch = 8, .learning_rate = 1e300};
  World world({.size = 2});
  dt::check_all_well(world.run([&](dtrain::Context& context) {
    HostDevice device(context);
    DeviceTrainer trainer(device, context, options, images);
    CHECK_THROWS_WITH(train(trainer, options),
                      "the loss is no longer a number in epoch 1; try a smaller --learning-rate");
  }));
}

}  // namespace
}  // namespace digits
