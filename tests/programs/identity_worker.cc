// A worker that passes its identity to init itself. Programs that do not let libdtrain read the
// environment do so. The worker joins the others, and prints "joined".
#include <cstdlib>
#include <dtrain/dtrain.hpp>
#include <iostream>

namespace {

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int main() {
  try {
    dtrain::Context world =
        dtrain::init({.role = variable("DTRAIN_ROLE"),
                      .task_index = std::atoi(variable("DTRAIN_TASK_INDEX")),
                      .rendezvous = variable("DTRAIN_RENDEZVOUS"),
                      .token = variable("DTRAIN_TOKEN"),
                      .job = variable("DTRAIN_JOB_ID"),
                      .generation = static_cast<unsigned>(std::atoi(variable("DTRAIN_GENERATION"))),
                      .timeout = std::chrono::seconds(10)});
    world.barrier();
    std::cout << "joined" << std::endl;
    return 0;
  } catch (const dtrain::Error& error) {
    std::cerr << error.what() << std::endl;
    return 5;
  }
}
