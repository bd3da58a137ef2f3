// Finds the line y = 2 x + 10 in noisy points. A chief schedules closures on passive workers, and
// parameter servers hold the line; README.md has the command.

#include "examples/in_graph/line.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dtrain/dtrain_coordinator.hpp>
#include <dtrain/dtrain_ps.hpp>
#include <exception>
#include <string>
#include <string_view>

namespace {

using in_graph::make_batch;
using in_graph::ServedLine;

constexpr std::size_t batch_count = 64;
constexpr int epochs = 10;

/// Runs closures. Their argument is the number of a batch.
void work(dtrain::ParameterServers& ps) {
  ServedLine line(ps);
  const auto step = [&](std::string_view batch) {
    line.pull();
    line.step(make_batch(std::stoul(std::string(batch))));
    return std::string();
  };
  const auto loss = [&](std::string_view batch) {
    line.pull();
    return std::to_string(line.loss(make_batch(std::stoul(std::string(batch)))));
  };
  dtrain::serve_closures({{"step", step}, {"loss", loss}}, {.ps = ps.get()});
}

/// Schedules one step for each batch of an epoch. Steps of different workers overlap.
void coordinate(dtrain::ParameterServers& ps) {
  ServedLine line(ps);
  dtrain::Coordinator coordinator({.ps = ps.get()});
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    for (std::size_t batch = 0; batch < batch_count; ++batch)
      coordinator.schedule_without_result("step", std::to_string(batch));
    coordinator.join();
    const dtrain::ScheduledClosure loss = coordinator.schedule("loss", "0");
    std::printf("epoch %2d   loss %s\n", epoch, coordinator.fetch(loss).c_str());
  }
  line.pull();
  std::printf("y = %.2f x + %.2f\n", line.w(), line.b());
}

}  // namespace

int main() {
  try {
    dtrain::ParameterServers ps;
    const char* const role = std::getenv("DTRAIN_ROLE");  // NOLINT(concurrency-mt-unsafe)
    if (role != nullptr && std::string_view(role) == "chief") {
      coordinate(ps);
    } else {
      work(ps);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in_graph: %s\n", error.what());
    return 1;
  }
}
