// Trains a small neural network to read hand-written digits, alone or on many ranks.
// The command for four ranks is `dtrain run -np 4 digits`; --strategy chooses devices and workers.
// The distributed part of the program is in trainer.cc, that of --device gpu in device_trainer.h.

#include "examples/digits/epoch_trainer.h"
#include "examples/digits/gpu_trainer.h"
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
#include <functional>
#include <string>
#include <utility>
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

/// Only one rank reports.
void report_start(const Split& split, std::size_t ranks) {
  std::printf("%zu images to train on, %zu to test on, %zu rank%s\n", split.training.size(),
              split.test.size(), ranks, ranks == 1 ? "" : "s");
}

void report_epoch(const EpochTrainer& trainer, const Options& options, double loss, double right,
                  const Speed& speed) {
  std::printf("epoch %3zu/%zu   loss %.6f   accuracy %5.1f %%   %.0f samples/s\n",
              trainer.epochs_done(), options.epochs, loss, 100 * right, speed.samples_per_s());
}

void report_end(const Network& network, const Split& split, const Speed& speed) {
  std::printf("training loss %.6f\n", mean_loss(network, split.training));
  if (speed.seconds > 0) std::printf("speed %.0f samples/s\n", speed.samples_per_s());
  std::printf("accuracy %.1f %%\n", 100 * accuracy(network, split.test));
}

Split read_split(const Options& options) {
  const std::filesystem::path file =
      options.images.empty() ? find_images(std::filesystem::read_symlink("/proc/self/exe"))
                             : options.images;
  return split_images(read_images(file));
}

/// A training on the CPU or on GPUs.
struct Training {
  EpochTrainer& trainer;
  const Options& options;
  const Split& split;
  bool reports = false;
  std::function<void()> after_epoch = {};
};

void train_epochs(const Training& training) {
  EpochTrainer& trainer = training.trainer;
  const Split& split = training.split;
  Speed total;
  while (trainer.epochs_done() < training.options.epochs) {
    const Clock::time_point begin = Clock::now();
    const double loss = trainer.train_epoch();
    const std::chrono::duration<double> took = Clock::now() - begin;
    const Speed speed{.samples = static_cast<double>(split.training.size()),
                      .seconds = took.count()};
    total.samples += speed.samples;
    total.seconds += speed.seconds;
    const Network::Values weights = trainer.weights();
    if (training.reports) {
      const double right = accuracy(Network(weights), split.test);
      report_epoch(trainer, training.options, loss, right, speed);
    }
    if (training.after_epoch) training.after_epoch();
  }
  const Network::Values weights = trainer.weights();
  if (training.reports) report_end(Network(weights), split, total);
}

const char* environment(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

/// The gradients are computed by the CPU, which cannot use the memory of GPUs.
dtrain::Strategy strategy_on_cpu() {
  const bool chosen = environment("DTRAIN_DEVICES") != nullptr;
  dtrain::Strategy strategy({.devices = chosen ? "" : "cpu"});
  for (std::size_t i = 0; i < strategy.local_replicas(); i++) {
    if (strategy.device(i).starts_with("cpu:")) continue;
    throw UsageError(
        "without --device gpu, this program computes on the CPU, and a replica is on " +
        strategy.device(i) + "; leave out --devices of dtrain run");
  }
  return strategy;
}

void train_by_strategy(const Options& options) {
  dtrain::Strategy strategy = strategy_on_cpu();
  const Split split = read_split(options);
  const bool reports = strategy.is_chief();
  if (reports) {
    report_start(split, strategy.workers());
    std::printf("strategy %s with %zu replica%s\n", strategy.name().c_str(), strategy.replicas(),
                strategy.replicas() == 1 ? "" : "s");
  }
  Trainer trainer(strategy, options, split.training);
  trainer.start();
  Training training{.trainer = trainer, .options = options, .split = split, .reports = reports};
  if (!options.checkpoint.empty()) training.after_epoch = [&] { trainer.save(); };
  train_epochs(training);
}

void train_on_gpus(const Options& options) {
  // A GPU for each rank is no strategy: without this, the user's choice would have no effect.
  for (const auto& [variable, option] :
       {std::pair{"DTRAIN_STRATEGY", "--strategy"}, std::pair{"DTRAIN_DEVICES", "--devices"}}) {
    if (environment(variable) == nullptr) continue;
    throw UsageError(std::string("--device gpu uses no strategy; leave out ") + option +
                     " of dtrain run, or give --device cpu");
  }
  dtrain::Context world = dtrain::init();
  const Split split = read_split(options);
  const GpuTraining training = prepare_gpu_training(world, options, split.training);
  const bool reports = world.rank() == 0;
  if (reports) {
    report_start(split, static_cast<std::size_t>(world.size()));
    std::printf("each rank on a GPU, rank 0 on %s\n", training.gpu.c_str());
  }
  train_epochs(
      {.trainer = *training.trainer, .options = options, .split = split, .reports = reports});
}

int run(const std::vector<std::string>& words) {
  std::string name = "digits";
  try {
    const Options options = parse_options(words);
    if (options.help) {
      std::fputs(usage().c_str(), stdout);
      return 0;
    }
    // A process that cannot join has its rank from the environment alone. A ps has none.
    const char* const rank = environment("DTRAIN_RANK");
    if (rank != nullptr || environment("DTRAIN_ROLE") == nullptr)
      name += std::string(": rank ") + (rank == nullptr ? "0" : rank);
    if (options.gpu) {
      train_on_gpus(options);
    } else {
      train_by_strategy(options);
    }
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
