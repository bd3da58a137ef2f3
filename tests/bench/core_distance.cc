// Prints the µs that a flag takes from CPU 0 to CPU 1, through memory. Virtual machines may move
// their CPUs between chiplets, and small calls in shared memory then take several times as long.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

namespace {

constexpr int rounds = 100'000;
constexpr size_t line_bytes = 128;

struct alignas(line_bytes) Flag {
  std::atomic<int> value = 0;
  void set(int to) { value.store(to, std::memory_order_release); }
  void await(int wanted) const {
    while (value.load(std::memory_order_acquire) != wanted) {
    }
  }
};

bool run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace

int main() {
  Flag there;
  Flag back;
  std::atomic<bool> pinned = true;
  std::thread other([&] {
    if (!run_on(1)) pinned = false;
    for (int round = 1; round <= rounds; ++round) {
      there.await(round);
      back.set(round);
    }
  });
  if (!run_on(0)) pinned = false;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 1; round <= rounds; ++round) {
    there.set(round);
    back.await(round);
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  other.join();
  if (!pinned) {
    std::cerr << "core_distance: needs CPU 0 and CPU 1\n";
    return 1;
  }
  std::cout << took.count() / rounds / 2 << '\n';
}
