// Trains a small neural network to read hand-written digits, alone or on many ranks.
// The command for four ranks is `dtrain run -np 4 digits`; --strategy chooses devices and workers.
// The distributed part of the program is in trainer.cc.

#include "examples/digits/images.h"
#include "examples/digits/network.h"
#include "examples/digits/options.h"
#include "examples/digits/trainer.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dtrain/dtrain_strategy.hpp>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace digits {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int status_failed = 1;
constexpr int status_usage = 2;

/// The samples that all ranks have trained on, and the time for them.
struct Speed {
  double samples = 0;
  double seconds = 0;

  double samples_per_s() const { return samples / seconds; }
};

/// Only the chief reports.
void report_start(const dtrain::Strategy& strategy, const Split& split) {
  std::printf("%zu images to train on, %zu to test on, %zu rank%s\n", split.training.size(),
              split.test.size(), strategy.workers(), strategy.workers() == 1 ? "" : "s");
  std::printf("strategy %s with %zu replica%s\n", strategy.name().c_str(), strategy.replicas(),
              strategy.replicas() == 1 ? "" : "s");
}

void report_epoch(const Trainer& trainer, const Options& options, double loss, double right,
                  const Speed& speed) {
  std::printf("epoch %3zu/%zu   loss %.6f   accuracy %5.1f %%   %.0f samples/s\n",
              trainer.epochs_done(), options.epochs, loss, 100 * right, speed.samples_per_s());
}

void report_end(const Network& network, const Split& split, const Speed& speed) {
  std::printf("training loss %.6f\n", mean_loss(network, split.training));
  if (speed.seconds > 0) std::printf("speed %.0f samples/s\n", speed.samples_per_s());
  std::printf("accuracy %.1f %%\n", 100 * accuracy(network, split.test));
}

void train(dtrain::Strategy& strategy, const Options& options) {
  const std::filesystem::path file =
      options.images.empty() ? find_images(std::filesystem::read_symlink("/proc/self/exe"))
                             : options.images;
  const Split split = split_images(read_images(file));
  const bool reports = strategy.is_chief();
  if (reports) report_start(strategy, split);

  Trainer trainer(strategy, options, split.training);
  trainer.start();
  Speed total;
  while (trainer.epochs_done() < options.epochs) {
    const Clock::time_point begin = Clock::now();
    const double loss = trainer.train_epoch();
    const std::chrono::duration<double> took = Clock::now() - begin;
    const Speed speed{.samples = static_cast<double>(split.training.size()),
                      .seconds = took.count()};
    total.samples += speed.samples;
    total.seconds += speed.seconds;
    const Network::Values weights = trainer.weights();
    if (reports)
      report_epoch(trainer, options, loss, accuracy(Network(weights), split.test), speed);
    if (!options.checkpoint.empty()) trainer.save();
  }
  const Network::Values weights = trainer.weights();
  if (reports) report_end(Network(weights), split, total);
}

int run(const std::vector<std::string>& words) {
  std::string name = "digits";
  try {
    const Options options = parse_options(words);
    if (options.help) {
      std::fputs(usage().c_str(), stdout);
      return 0;
    }
    // A process that cannot join has its rank from the environment alone.
    const char* const rank = std::getenv("DTRAIN_RANK");  // NOLINT(concurrency-mt-unsafe)
    name += std::string(": rank ") + (rank == nullptr ? "0" : rank);
    dtrain::Strategy strategy;
    train(strategy, options);
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return status_usage;
  } catch (
      const std::exception& error) {  // dtrain::Error is one, and names the rank that it blames
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return status_failed;
  }
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  // Line-buffered: each line of progress is visible at once, also through a pipe.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  return digits::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
