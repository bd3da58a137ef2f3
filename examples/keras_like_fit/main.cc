// Learns which points lie in a circle, by the loop with callbacks in fit.h. Runs alone, or on
// several processes (dtrain run -np 4). Also runs on several devices of a process (dtrain run -np 1
// --strategy mirrored).

#include "examples/keras_like_fit/fit.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace keras_like_fit {
namespace {

struct Options {
  std::size_t epochs = 10;
  std::string checkpoint;
  bool resume = false;
};

/// Returns none for words that are no options.
std::optional<Options> parse(std::span<const std::string> words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); i++) {
    if (words[i] == "--resume") {
      options.resume = true;
    } else if (words[i] == "--checkpoint" && i + 1 < words.size()) {
      options.checkpoint = words[++i];
    } else if (words[i] == "--epochs" && i + 1 < words.size()) {
      options.epochs = std::strtoul(words[++i].c_str(), nullptr, 10);
    } else {
      return std::nullopt;
    }
  }
  if (options.resume && options.checkpoint.empty()) return std::nullopt;
  return options;
}

void train(const Options& options) {
  // Its gradients are computed by the CPU, which cannot use the memory of GPUs.
  const char* const devices = std::getenv("DTRAIN_DEVICES");  // NOLINT(concurrency-mt-unsafe)
  dtrain::Strategy strategy({.devices = devices == nullptr ? "cpu" : devices});
  for (std::size_t i = 0; i < strategy.local_replicas(); ++i) {
    if (!strategy.device(i).starts_with("cpu:"))
      throw std::runtime_error("this program computes on the CPU; leave out --devices");
  }
  Model model(strategy);
  Epochs trained = {.end = options.epochs};
  if (options.resume) {
    strategy.restore(options.checkpoint);
    trained.first = static_cast<std::size_t>(model.epochs_done.read()[0]);
  } else {
    model.own_weights = random_weights(strategy.worker() + 1);
  }
  if (strategy.is_chief()) {
    std::printf("%s with %zu replica%s\n", strategy.name().c_str(), strategy.replicas(),
                strategy.replicas() == 1 ? "" : "s");
  }
  Callbacks callbacks;
  callbacks.push_back(std::make_unique<BroadcastAtStart>());
  callbacks.push_back(std::make_unique<LearningRateWarmup>(3));
  callbacks.push_back(std::make_unique<MetricAverage>());
  if (!options.checkpoint.empty())
    callbacks.push_back(std::make_unique<Checkpoint>(options.checkpoint));
  callbacks.push_back(std::make_unique<PrintEpoch>());
  const std::vector<Point> points = make_points();
  fit(model, points, trained, callbacks);
}

}  // namespace
}  // namespace keras_like_fit

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto options = keras_like_fit::parse(words);
  if (!options) {
    std::fputs("usage: keras_like_fit [--epochs N] [--checkpoint FILE [--resume]]\n", stderr);
    return 2;
  }
  try {
    keras_like_fit::train(*options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "keras_like_fit: %s\n", error.what());
    return 1;
  }
}
