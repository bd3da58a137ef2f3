// A worker that pushes to parameter servers, for tests. Each push adds one to each number.
//
//    ps_worker STEPS MODE COUNT [kill=INDEX:STEP] [other=INDEX] [save=PATH] [load=PATH] [size=N]
//              [several=1] [idle=FILE] [until=FILE:STEP] [kills=N]
//
// MODE is async, sync or bounded. The worker `kill` ends by SIGKILL before its push of that step,
// in its first N attempts (1). Later attempts do not wait for the start of others. The worker
// `other` declares another shape. With `several`, there are variables with the numbers of
// optimisers, too, and gradients that change. A digest of all values is then printed. FILE has the
// pid of a server. Its wake-ups in one second without requests are printed. Before its push of the
// step of `until`, worker 0 prints that step, and waits until FILE exists.

#include "tests/programs/number.h"
#include "tests/programs/sleep_count.h"

#include <bit>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dtrain/dtrain_ps.hpp>
#include <exception>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct Options {
  long steps = 0;
  dtrain::PsMode mode = dtrain::PsMode::async;
  int count = 0;
  int kill_index = -1;
  long kill_step = -1;
  long kills = 1;
  int other = -1;
  std::string save;
  std::string load;
  std::size_t size = 4;
  bool several = false;
  std::string idle;
  std::string awaited;
  long awaited_step = -1;
};

Options options_of(std::span<char*> words) {
  Options options;
  options.steps = number(words[1]);
  const std::string_view mode = words[2];
  if (mode == "sync") options.mode = dtrain::PsMode::sync;
  if (mode == "bounded") options.mode = dtrain::PsMode::bounded;
  options.count = static_cast<int>(number(words[3]));
  for (const std::string_view word : words.subspan(4)) {
    const std::string_view value = word.substr(word.find('=') + 1);
    if (word.starts_with("kill=")) {
      options.kill_index = static_cast<int>(number(value));
      options.kill_step = number(value.substr(value.find(':') + 1));
    } else if (word.starts_with("kills=")) {
      options.kills = number(value);
    } else if (word.starts_with("other=")) {
      options.other = static_cast<int>(number(value));
    } else if (word.starts_with("save=")) {
      options.save = value;
    } else if (word.starts_with("load=")) {
      options.load = value;
    } else if (word.starts_with("size=")) {
      options.size = static_cast<std::size_t>(number(value));
    } else if (word.starts_with("several=")) {
      options.several = number(value) != 0;
    } else if (word.starts_with("idle=")) {
      options.idle = value;
    } else if (word.starts_with("until=")) {
      options.awaited = value.substr(0, value.rfind(':'));
      options.awaited_step = number(value.substr(value.rfind(':') + 1));
    }
  }
  return options;
}

long number_in(const char* variable, long otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : number(text);
}

/// Requires that no worker asks the server meanwhile.
long wake_ups_in_one_second(const std::string& file) {
  std::string pid;
  std::ifstream(file) >> pid;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const long before = sleep_count(pid);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return sleep_count(pid) - before;
}

/// Lets a test act at a certain step.
void await_file(const std::string& file, long step) {
  std::printf("worker 0: step %ld\n", step);
  std::fflush(stdout);
  while (!std::ifstream(file))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Variables whose optimisers keep numbers, and their gradients.
class OptimisedVariables {
 public:
  explicit OptimisedVariables(dtrain::ParameterServers& ps) : ps_(ps) {
    ps_.declare({{.name = "momentum",
                  .shape = {5},
                  .optimizer = dtrain::PsOptimizer::momentum,
                  .momentum = 0.9},
                 {.name = "adam", .shape = {5}, .optimizer = dtrain::PsOptimizer::adam}});
  }
  void push(long step) {
    for (std::size_t i = 0; i < gradient_.size(); ++i)
      gradient_[i] = 0.1F * static_cast<float>(i + 1) / static_cast<float>(step % 7 + 1);
    ps_.push_pull(arrays_);
  }
  /// Returns a digest of the bits of all values: FNV-1a.
  std::uint64_t digest() {
    ps_.pull(arrays_);
    std::uint64_t sum = 14695981039346656037U;
    for (const auto* const values : {&momentum_, &adam_}) {
      for (const float value : *values)
        sum = (sum ^ std::bit_cast<std::uint32_t>(value)) * 1099511628211U;
    }
    return sum;
  }

 private:
  dtrain::ParameterServers& ps_;
  std::vector<float> gradient_ = std::vector<float>(5);
  std::vector<float> momentum_ = std::vector<float>(5);
  std::vector<float> adam_ = std::vector<float>(5);
  std::vector<dtrain::PsArray> arrays_ = {
      dtrain::PsArray::push_pull<float>("momentum", gradient_, momentum_),
      dtrain::PsArray::push_pull<float>("adam", gradient_, adam_)};
};

void work(const Options& options, int index) {
  const long attempt = number_in("DTRAIN_ATTEMPT", 1);
  dtrain::ParameterServers ps;
  const std::size_t size = options.size + (options.other == index ? 1 : 0);
  ps.declare({{.name = "w", .shape = {size}, .learning_rate = 1}});
  std::optional<OptimisedVariables> optimised;
  if (options.several) optimised.emplace(ps);
  if (index == 0 && !options.load.empty())
    std::printf("loaded step %lld\n", static_cast<long long>(ps.load(options.load)));
  if (index == 0 && attempt == 1) ps.set_mode(options.mode, options.count);
  if (attempt == 1) ps.barrier();
  std::printf("worker %d: started\n", index);
  std::fflush(stdout);
  const std::vector<float> gradient(size, -1);
  std::vector<float> values(size);
  const std::vector<dtrain::PsArray> arrays = {
      dtrain::PsArray::push_pull<float>("w", gradient, values)};
  ps.pull(arrays);
  for (long step = 0; step < options.steps; ++step) {
    if (index == options.kill_index && step == options.kill_step && attempt <= options.kills)
      std::raise(SIGKILL);
    if (index == 0 && step == options.awaited_step) await_file(options.awaited, step);
    ps.push_pull(arrays);
    if (optimised) optimised->push(step);
  }
  ps.barrier();
  const auto step = static_cast<long long>(ps.pull(arrays));
  if (index == 0 && !options.save.empty()) ps.save(options.save);
  if (optimised)
    std::printf("worker %d: digest %016llx\n", index,
                static_cast<unsigned long long>(optimised->digest()));
  if (!options.idle.empty())
    std::printf("server: %ld wake-ups\n", wake_ups_in_one_second(options.idle));
  const dtrain_ps_statistics counts = ps.statistics();
  std::printf("worker %d: w = %.0f %.0f, step %lld, own pushes %lld, stale %lld\n", index,
              static_cast<double>(values.front()), static_cast<double>(values.back()), step,
              static_cast<long long>(counts.own_pushes), static_cast<long long>(counts.own_stale));
}

}  // namespace

int main(int argc, char** argv) {
  const int index = static_cast<int>(number_in("DTRAIN_TASK_INDEX", 0));
  try {
    work(options_of(std::span(argv, static_cast<std::size_t>(argc))), index);
    return 0;
  } catch (const std::exception& error) {
    std::printf("worker %d: error: %s\n", index, error.what());
    return 1;
  }
}
