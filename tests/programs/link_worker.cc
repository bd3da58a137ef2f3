// A worker that uses one link, for the tests that count connections or cut them before their use.
//
//    link_worker GO STOP [WAKE]
//
// Every rank prints "joined". When the file GO exists, rank 0 sends a number to the last rank,
// which prints "received". All ranks end when the file STOP exists. A rank whose call fails prints
// the error and its delay in ms after GO was seen.
//
// With the file WAKE, all ranks send a number to the last one, which enters no call until WAKE
// exists. It prints "received" after the last number.
#include <chrono>
#include <cstdint>
#include <dtrain/dtrain.hpp>
#include <filesystem>
#include <iostream>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void wait_for_file(const char* path) {
  while (!std::filesystem::exists(path))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void use_all_links(dtrain::Context& world, const char* wake) {
  const int last = world.size() - 1;
  std::vector<std::int32_t> values = {world.rank()};
  if (world.rank() < last) return world.send(values, last);
  wait_for_file(wake);
  bool right = true;
  for (int from = 0; from < last; ++from) {
    world.recv(values, from);
    right = right && values.front() == from;
  }
  if (right) std::cout << "received" << std::endl;
}

void use_link(dtrain::Context& world) {
  const int last = world.size() - 1;
  std::vector<std::int32_t> values = {42};
  if (world.rank() == 0) world.send(values, last);
  if (world.rank() != last) return;
  values = {0};
  world.recv(values, 0);
  if (values.front() == 42) std::cout << "received" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Clock::time_point start = Clock::now();
  try {
    dtrain::Context world = dtrain::init({.timeout = std::chrono::seconds(60)});
    std::cout << "joined" << std::endl;
    wait_for_file(argv[1]);
    start = Clock::now();
    if (argc > 3) {
      use_all_links(world, argv[3]);
    } else {
      use_link(world);
    }
    wait_for_file(argv[2]);
    return 0;
  } catch (const dtrain::Error& error) {
    const auto delay = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
    std::cerr << error.what() << " (after " << delay.count() << " ms)" << std::endl;
    return 5;
  }
}
