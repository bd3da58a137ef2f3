// A worker that sums until the file STOP exists, for the tests that pause and disturb jobs.
//
//    steady_worker STOP [TRANSPORT [LIMIT]]    TRANSPORT: auto, tcp.
//
// Each sum has a time limit of LIMIT seconds: 3 by default, 0 for none. Rank 0 prints "steady"
// after the first sum. At the end, every rank prints "all sums were right".
#include <chrono>
#include <cstdlib>
#include <dtrain/dtrain.hpp>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <vector>

namespace {

int run(const char* stop, dtrain::Transport transport, std::chrono::seconds limit) {
  dtrain::Context world =
      dtrain::init({.transport = transport, .timeout = std::chrono::seconds(10)});
  // Large enough that over TCP some bytes are always under way.
  std::vector<float> values(1'000'000);
  for (int round = 0;; ++round) {
    const bool last = world.rank() == 0 && std::filesystem::exists(stop);
    values.assign(values.size(), 1.0F);
    values.front() = last ? 1.0F : 0.0F;
    world.all_reduce(values, dtrain::Op::sum, {.timeout = limit});
    if (values.back() != static_cast<float>(world.size())) return 4;
    if (values.front() > 0.0F) break;
    if (round == 0 && world.rank() == 0) std::cout << "steady" << std::endl;
  }
  std::cout << "all sums were right" << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool tcp = argc > 2 && std::string_view(argv[2]) == "tcp";
  const std::chrono::seconds limit(argc > 3 ? std::atoi(argv[3]) : 3);
  try {
    return run(argv[1], tcp ? dtrain::Transport::tcp : dtrain::Transport::automatic, limit);
  } catch (const dtrain::Error& error) {
    std::cerr << error.what() << std::endl;
    return 5;
  }
}
