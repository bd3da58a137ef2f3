#pragma once

#include "launcher/connect/spawned_process.h"
#include "launcher/network/dial_order.h"
#include "tests/sim/job/cable.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// The fate of a scheduler's program that starts all agents.
enum class StarterFate : uint8_t {
  stays,      ///< until all agents have ended
  fails,      ///< starts nothing
  ends_early  ///< when the agents speak; nobody needs it then
};
inline constexpr int starter_fates = 3;

/// A scheduler's program, as srun: it gives its input to all agents that it starts.
class SimulatedStarter {
 public:
  /// `start_agent` is called when the input has ended.
  SimulatedStarter(Site& site, StarterFate fate,
                   std::function<void(const DialOrder&)> start_agents);
  SimulatedStarter(const SimulatedStarter&) = delete;
  SimulatedStarter& operator=(const SimulatedStarter&) = delete;

  Result<SpawnedProcess> run();
  void agents_speak();
  void agents_ended();

 private:
  Site& site_;
  StarterFate fate_;
  std::function<void(const DialOrder&)> start_agents_;
  Bytes input_;
  std::unique_ptr<Cable> pipe_;  ///< null before run()
};

}  // namespace dt
