// Measures costs of libdtrain beside the time of its operations. Each rank prints a line. The
// argument `reinit` measures finalize and init again in one process, in ms. `submit` measures the
// call that starts an all_reduce of 4 KiB, in us. `memory` measures the resident memory beyond
// tensors of 100 MB.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <dtrain/dtrain.hpp>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Tensors = std::vector<std::vector<float>>;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// Prints the quartiles of some times.
void print_spread(int rank, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto part = [&](size_t percent) { return times[(times.size() - 1) * percent / 100]; };
  std::printf("rank %d: median %.2f, quartiles %.2f - %.2f, least %.2f, 99 %% %.2f\n", rank,
              part(50), part(25), part(75), part(0), part(99));
}

void measure_reinit() {
  constexpr int rounds = 41;
  dtrain::Context world = dtrain::init();
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    world.barrier();
    const Clock::time_point begin = Clock::now();
    world.finalize();
    world = dtrain::init();
    times.push_back(microseconds_since(begin) / 1000);
  }
  print_spread(world.rank(), times);
}

/// Starts an all_reduce of each tensor, and waits for all. Returns the times of the calls in us.
std::vector<double> reduce_all(dtrain::Context& world, Tensors& tensors) {
  std::vector<double> times;
  std::vector<dtrain::Work> works;
  for (std::vector<float>& tensor : tensors) {
    const std::string name = std::to_string(works.size());
    const Clock::time_point begin = Clock::now();
    works.push_back(world.all_reduce_async(tensor, dtrain::Op::sum, {.name = name}));
    times.push_back(microseconds_since(begin));
  }
  for (dtrain::Work& work : works)
    work.wait();
  return times;
}

void measure_submit() {
  constexpr int rounds = 20;
  dtrain::Context world = dtrain::init();
  Tensors tensors(200, std::vector<float>(1024, 1));
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> more = reduce_all(world, tensors);
    times.insert(times.end(), more.begin(), more.end());
    world.barrier();
  }
  print_spread(world.rank(), times);
}

long resident_kib() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(line.find(':') + 1));
  return 0;
}

void measure_memory() {
  constexpr int rounds = 5;
  dtrain::Context world = dtrain::init();
  Tensors tensors(161, std::vector<float>(160'000, 1));
  const long before = resident_kib();
  for (int round = 0; round < rounds; ++round)
    reduce_all(world, tensors);
  std::printf("rank %d: %ld KiB more than before the first call\n", world.rank(),
              resident_kib() - before);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  try {
    if (what == "reinit") {
      measure_reinit();
    } else if (what == "submit") {
      measure_submit();
    } else if (what == "memory") {
      measure_memory();
    } else {
      std::fprintf(stderr, "usage: library_costs reinit|submit|memory\n");
      return 2;
    }
  } catch (const dtrain::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
