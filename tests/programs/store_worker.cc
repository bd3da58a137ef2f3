// A worker for the tests of the job's store in real processes. With the argument "all", every rank
// makes each kind of request, and prints "good" on success. With "waiter", rank 1 is killed while
// it waits, and the others print the errors of their waits.
#include <csignal>
#include <cstdint>
#include <dtrain/dtrain.hpp>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

/// Makes each kind of request; returns the status to exit with. Exactly one rank may win the
/// compare_and_set, and the counter of arrivals must reach the number of ranks.
int use_all(dtrain::Context& world) {
  dtrain::Store store = world.store();
  const std::string blob(500'000, static_cast<char>('0' + world.rank()));
  store.set("blob/" + std::to_string(world.rank()), blob);
  for (int rank = 0; rank < world.size(); ++rank) {
    const std::string theirs = store.wait("blob/" + std::to_string(rank));
    if (theirs != std::string(500'000, static_cast<char>('0' + rank))) return 10;
  }
  if (store.get("absent")) return 11;
  const auto claim = store.compare_and_set("first", std::nullopt, std::to_string(world.rank()));
  if (claim.done) store.add("firsts", 1);
  if (!claim.done && !claim.held) return 12;
  if (store.add("arrived", 1) == world.size()) store.set("all", "there");
  store.wait("all");
  std::vector<int> sum = {claim.done ? 1 : 0};
  world.all_reduce(sum);
  if (sum[0] != 1 || store.get("firsts") != "1") return 13;
  std::vector<int> erased = {store.erase("all") ? 1 : 0};
  world.all_reduce(erased);
  if (erased[0] != 1) return 14;
  std::cout << "good" << std::endl;
  return 0;
}

int lose_a_waiter(dtrain::Context& world) {
  dtrain::Store store = world.store();
  std::thread killer([&] {
    if (world.rank() != 1) return;
    store.wait("die");
    std::raise(SIGKILL);
  });
  // Behind a barrier, the death of rank 1 could end that of another rank.
  store.set("ready " + std::to_string(world.rank()), "yes");
  if (world.rank() == 0) {
    store.wait("ready 1");
    store.wait("ready 2");
    store.set("die", "now");
  }
  try {
    store.wait("never", {.name = "in vain"});
  } catch (const dtrain::Error& error) {
    std::cout << "error: " << error.what() << std::endl;
  }
  killer.join();
  if (store.add("survivors", 1) == 2) std::cout << "still counts" << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    dtrain::Context world = dtrain::init();
    return std::string_view(argv[1]) == "all" ? use_all(world) : lose_a_waiter(world);
  } catch (const dtrain::Error& error) {
    std::cerr << error.what() << std::endl;
    return 5;
  }
}
