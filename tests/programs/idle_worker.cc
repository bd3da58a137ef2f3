// Counts how often libdtrain's threads wake up while they have nothing to do.
//
//    idle_worker TRANSPORT    shm or tcp
//
// A job of two ranks, which have reduced tensors with and without names. Each prints "idle: N
// wake-ups, in recv: N wake-ups". The first number is of one second without operations. The second
// one is of a second in which a thread waits for a message.
#include "tests/programs/sleep_count.h"

#include <unistd.h>

#include <chrono>
#include <dtrain/dtrain.hpp>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

/// The time in which the other rank's last messages arrive.
constexpr std::chrono::milliseconds settle_time(500);

/// How often the threads of this process have slept, without the first one.
long sleeps() {
  const std::string self = std::to_string(getpid());
  return sleep_count(self, self);
}

/// Requires that the other rank does the same at about the same time.
long wake_ups_in_one_second(dtrain::Context& world) {
  world.barrier();
  std::this_thread::sleep_for(settle_time);
  const long before = sleeps();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const long after = sleeps();
  std::this_thread::sleep_for(settle_time);
  return after - before;
}

int run(dtrain::Transport transport) {
  dtrain::Context world = dtrain::init({.transport = transport});
  // This starts the engine's thread.
  std::vector<float> values(100'000, 1.0F);
  world.all_reduce_async(values).wait();
  std::vector<std::vector<float>> list(200, std::vector<float>(10, 1.0F));
  world.all_reduce_list(list);
  for (int step = 0; step < 3; ++step)
    world.all_reduce_async(values, dtrain::Op::average, {.name = "values"}).wait();
  const long idle = wake_ups_in_one_second(world);
  const int other = 1 - world.rank();
  std::vector<int> message(1);
  std::thread receiver([&] { world.recv(message, other); });
  const long receiving = wake_ups_in_one_second(world);
  world.send(message, other);
  receiver.join();
  std::cout << "idle: " << idle << " wake-ups, in recv: " << receiving << " wake-ups" << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const bool shm = std::string(argv[1]) == "shm";
  try {
    return run(shm ? dtrain::Transport::shm : dtrain::Transport::tcp);
  } catch (const dtrain::Error& error) {
    std::cerr << error.what() << std::endl;
    return 5;
  }
}
