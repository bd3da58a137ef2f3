// A worker whose ranks sum once after a barrier, but one of them comes late.
//
//    stalling_worker LATE WAY RELEASE [TRANSPORT]    WAY: sleep, read, stop, receive, key, names.
//
// Rank LATE prints "late". Then it sleeps until the file RELEASE exists (sleep), reads from the
// pipe RELEASE (read), or stops itself (stop). With receive, it receives from rank 0, which sends
// when RELEASE exists. With key, it waits for a key that rank 0 then sets. In the end each rank
// prints "sum: N".
//
// With names, of two ranks, LATE waits for its asynchronous sum "theirs", and the other rank for
// "ours". When RELEASE exists, each submits the other's, too.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <dtrain/dtrain.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

/// A process that looks often would sometimes be seen running.
void sleep_until(const char* release) {
  while (!std::filesystem::exists(release))
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
}

void come_late(dtrain::Context& world, std::string_view way, const char* release) {
  std::cout << "late" << std::endl;
  if (way == "sleep") sleep_until(release);
  if (way == "stop") std::raise(SIGSTOP);
  if (way == "read") {
    char byte = 0;
    std::ifstream(release).get(byte);
  }
  std::vector<int> message(1);
  if (way == "receive") world.recv(message, 0, {.name = "never"});
  if (way == "key") world.store().wait("weights");
}

void wait_in_different_names(dtrain::Context& world, int late, const char* release) {
  const bool is_late = world.rank() == late;
  std::vector<float> own(8, 1.0F);
  std::vector<float> other(8, 1.0F);
  dtrain::Work work =
      world.all_reduce_async(own, dtrain::Op::sum, {.name = is_late ? "theirs" : "ours"});
  std::thread releaser([&] {
    sleep_until(release);
    world.all_reduce_async(other, dtrain::Op::sum, {.name = is_late ? "ours" : "theirs"}).wait();
  });
  if (is_late) std::cout << "late" << std::endl;
  work.wait();
  releaser.join();
  std::cout << "sum: " << own[7] + other[7] << std::endl;
}

int run(int late, std::string_view way, const char* release, dtrain::Transport transport) {
  dtrain::Context world = dtrain::init({.transport = transport});
  world.barrier({.name = "start"});
  if (way == "names") {
    wait_in_different_names(world, late, release);
    return 0;
  }
  std::vector<float> values(8, 1.0F);
  if (world.rank() == late) come_late(world, way, release);
  if (world.rank() == 0 && (way == "receive" || way == "key")) {
    std::thread releaser([&] {
      const std::vector<int> message(1);
      sleep_until(release);
      if (way == "receive") world.send(message, late, {.name = "never"});
      if (way == "key") world.store().set("weights", "late");
    });
    world.all_reduce(values, dtrain::Op::sum, {.name = "gradients"});
    releaser.join();
  } else {
    world.all_reduce(values, dtrain::Op::sum, {.name = "gradients"});
  }
  std::cout << "sum: " << values[7] << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const bool tcp = argc > 4 && std::string_view(argv[4]) == "tcp";
  try {
    return run(std::atoi(argv[1]), argv[2], argv[3],
               tcp ? dtrain::Transport::tcp : dtrain::Transport::automatic);
  } catch (const dtrain::Error& error) {
    std::cerr << error.what() << std::endl;
    return 5;
  }
}
