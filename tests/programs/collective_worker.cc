// A worker for the tests of what engines say when one of them is gone. Sums for ever, until the
// victim ends itself in the middle of one by the given way; all others print what they were told,
// and after how many milliseconds:
//
//   collective_worker VICTIM WAY STAMP    WAY: kill, segv, abort, exit3, exit0, hang, mismatch
//
// The victim leaves its time of death (CLOCK_MONOTONIC, ms) in the file STAMP.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <dtrain/dtrain.hpp>
#include <fstream>
#include <iostream>
#include <string_view>
#include <vector>

namespace {

int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

[[noreturn]] void die(std::string_view way, const char* stamp) {
  std::ofstream(stamp) << now_ms() << std::endl;
  if (way == "kill") std::raise(SIGKILL);
  if (way == "segv") std::raise(SIGSEGV);
  if (way == "abort") std::abort();
  _exit(way == "exit3" ? 3 : 0);
}

/// What was told, or nothing when the sum came out.
std::string sum(dtrain::Context& world, std::vector<float>& values) {
  try {
    world.all_reduce(values, dtrain::Op::sum, {.name = "gradients"});
    return {};
  } catch (const dtrain::Error& error) {
    return error.what();
  }
}

int run(int victim, std::string_view way, const char* stamp) {
  dtrain::Context world = dtrain::init();
  std::vector<float> values(10'000);
  const bool is_victim = world.rank() == victim;
  for (int round = 0;; ++round) {
    std::ranges::fill(values, 1.0F);
    if (is_victim && round == 20) {
      if (way == "mismatch") {
        values.resize(9'999);
      } else {
        die(way, stamp);
      }
    }
    const std::string told = sum(world, values);
    if (told.empty()) {
      if (values[0] != static_cast<float>(world.size())) return 4;
      if (round == 40) break;
      continue;
    }
    int64_t died = 0;
    std::ifstream(stamp) >> died;
    std::cout << "told: " << told << "\nafter_ms: " << (died == 0 ? 0 : now_ms() - died)
              << std::endl;
    if (way != "mismatch") return 0;
    values.resize(10'000);
  }
  std::cout << "went on to the end" << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    return run(std::atoi(argv[1]), argv[2], argv[3]);
  } catch (const dtrain::Error& error) {
    std::cerr << error.what() << std::endl;
    return 5;
  }
}
