// Measures dtrain_init with the first sum of 4 bytes, as mpi_collectives.c does for an MPI. Rank 0
// prints the line of `dtrain bench --format peers`, with the time of the slowest rank.
#include <chrono>
#include <cstdio>
#include <dtrain/dtrain.hpp>
#include <vector>

int main() {
  const auto begin = std::chrono::steady_clock::now();
  try {
    dtrain::Context world = dtrain::init();
    std::vector<float> sum = {1};
    world.all_reduce(sum);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    std::vector<double> us = {took.count()};
    world.all_reduce(us, dtrain::Op::max);
    const bool wrong = sum[0] != static_cast<float>(world.size());
    if (world.rank() == 0)
      std::printf("dtrain\tfirst\t%d\t4\t1\t%.2f\t%.2f\t%.2f\t%.2f\t0\t0\t%d\n", world.size(),
                  us[0], us[0], us[0], us[0], wrong ? 1 : 0);
  } catch (const dtrain::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
