// Measures costs of libdtrain beside the time of its operations. Each rank prints a line. The
// argument `reinit` measures finalize and init again in one process, in ms. `submit` measures the
// call that starts an all_reduce of 4 KiB, in us. `memory` measures the resident memory beyond
// tensors of 100 MB. `names` measures a step of 200 such calls, in us. Each step has the same
// names, or new ones, or none. `sparse` measures all_reduce_sparse of a growing part of a matrix,
// in us, and all_reduce of the whole. The matrix has 20,000 rows of 64 floats.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <dtrain/dtrain.hpp>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
std::vector<double> reduce_all(dtrain::Context& world, Tensors& tensors,
                               const std::string& prefix = "") {
  std::vector<double> times;
  std::vector<dtrain::Work> works;
  for (std::vector<float>& tensor : tensors) {
    const std::string name = prefix + std::to_string(works.size());
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

void reduce_one_by_one(dtrain::Context& world, Tensors& tensors) {
  for (std::vector<float>& tensor : tensors)
    world.all_reduce(tensor);
}

/// Runs the steps of all forms in turn, so that a slow moment of the machine concerns each of them.
void measure_names() {
  constexpr int rounds = 200;
  dtrain::Context world = dtrain::init();
  Tensors tensors(200, std::vector<float>(1024, 1));
  std::vector<double> same;
  std::vector<double> fresh;
  std::vector<double> none;
  const auto time = [&](std::vector<double>& times, const auto& step) {
    world.barrier();
    const Clock::time_point begin = Clock::now();
    step();
    times.push_back(microseconds_since(begin));
  };
  for (int round = 0; round < rounds; ++round) {
    time(same, [&] { reduce_all(world, tensors); });
    time(fresh, [&] { reduce_all(world, tensors, "step" + std::to_string(round) + "."); });
    time(none, [&] { reduce_one_by_one(world, tensors); });
  }
  const std::pair<const char*, std::vector<double>*> forms[] = {
      {"same names", &same}, {"new names", &fresh}, {"no names", &none}};
  for (const auto& [form, times] : forms) {
    std::printf("%s: ", form);
    print_spread(world.rank(), *times);
  }
}

void measure_sparse() {
  constexpr int rounds = 41;
  constexpr std::size_t rows = 20'000;
  constexpr std::size_t width = 64;
  constexpr std::size_t percents[] = {1, 5, 10, 20, 30, 40, 45, 49, 50, 60, 80};
  dtrain::Context world = dtrain::init();
  std::vector<float> matrix(rows * width, 1);
  std::vector<std::vector<double>> times(std::size(percents) + 1);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      world.barrier();
      const bool whole = i == std::size(percents);
      std::vector<std::int64_t> indices;
      // The ranks have different rows, of which some are common.
      const std::size_t given = whole ? 0 : rows * percents[i] / 100;
      for (std::size_t row = 0; row < given; ++row)
        indices.push_back(static_cast<std::int64_t>(
            (row * 7919 + static_cast<std::size_t>(world.rank())) % rows));
      const std::span<const float> values(matrix.data(), given * width);
      const Clock::time_point begin = Clock::now();
      if (whole) {
        world.all_reduce(matrix, dtrain::Op::max);
      } else {
        world.all_reduce_sparse(indices, values, {.rows = rows, .width = width}, dtrain::Op::max);
      }
      times[i].push_back(microseconds_since(begin));
    }
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i < std::size(percents)) std::printf("%zu %% of the rows: ", percents[i]);
    if (i == std::size(percents)) std::printf("all_reduce of the matrix: ");
    print_spread(world.rank(), times[i]);
  }
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
    } else if (what == "names") {
      measure_names();
    } else if (what == "sparse") {
      measure_sparse();
    } else {
      std::fprintf(stderr, "usage: library_costs reinit|submit|memory|names|sparse\n");
      return 2;
    }
  } catch (const dtrain::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
