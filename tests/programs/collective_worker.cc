// A worker that sums in rounds until its victim, a rank, fails in round 20.
//
//    collective_worker VICTIM FAULT STAMP    FAULT: kill, segv, abort, exit3, exit0, mismatch,
//                                            stop, stop_tcp.
//
// The victim ends while the others sum, or sums another number of elements (mismatch). With stop,
// it stops within a sum until a SIGCONT; stop_tcp does so over TCP alone. Those sums exceed the
// buffers of a socket, so that the window of the stopped process closes. Every rank whose sum fails
// prints the error, and its delay in ms after the victim's death. The victim writes the time of its
// death (CLOCK_MONOTONIC, ms) to the file STAMP. Ranks without such a victim print "reached the
// end" after round 40.
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

/// Returns only after a fault that does not end this process.
void suffer(std::string_view fault, const char* stamp) {
  std::ofstream(stamp) << now_ms() << std::endl;
  if (fault.starts_with("stop")) {
    // The stop comes within the sum that follows, so that the others are sending.
    std::signal(SIGALRM, [](int) { std::raise(SIGSTOP); });
    ualarm(5'000, 0);
    return;
  }
  if (fault == "kill") std::raise(SIGKILL);
  if (fault == "segv") std::raise(SIGSEGV);
  if (fault == "abort") std::abort();
  _exit(fault == "exit3" ? 3 : 0);
}

/// Sums over all ranks. Returns the error's text; empty on success.
std::string sum(dtrain::Context& world, std::vector<float>& values) {
  try {
    world.all_reduce(values, dtrain::Op::sum, {.name = "gradients"});
    return {};
  } catch (const dtrain::Error& error) {
    return error.what();
  }
}

int run(int victim, std::string_view fault, const char* stamp) {
  const auto transport =
      fault == "stop_tcp" ? dtrain::Transport::tcp : dtrain::Transport::automatic;
  dtrain::Context world = dtrain::init({.transport = transport});
  std::vector<float> values(fault.starts_with("stop") ? 16'000'000 : 10'000);
  const bool is_victim = world.rank() == victim;
  for (int round = 0;; ++round) {
    std::ranges::fill(values, 1.0F);
    if (is_victim && round == 20) {
      if (fault == "mismatch") {
        values.resize(9'999);
      } else {
        suffer(fault, stamp);
      }
    }
    const std::string error = sum(world, values);
    if (error.empty()) {
      if (values[0] != static_cast<float>(world.size())) return 4;
      if (round == 40) break;
      continue;
    }
    int64_t died = 0;
    std::ifstream(stamp) >> died;
    std::cout << "error: " << error << "\nafter_ms: " << (died == 0 ? 0 : now_ms() - died)
              << std::endl;
    if (fault != "mismatch") return 0;
    values.resize(10'000);
  }
  std::cout << "reached the end" << std::endl;
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
