#include "tests/sim/job/simulated_starter.h"

#include <utility>

namespace dt {

SimulatedStarter::SimulatedStarter(Site& site, StarterFate fate,
                                   std::function<void(const DialOrder&)> start_agents)
    : site_(site), fate_(fate), start_agents_(std::move(start_agents)) {
}

Result<SpawnedProcess> SimulatedStarter::run() {
  pipe_ = std::make_unique<Cable>(
      site_, Cable::Nature(),
      Cable::Handlers{
          .on_bytes =
              [this](ByteSpan bytes) { input_.insert(input_.end(), bytes.begin(), bytes.end()); },
          .on_end =
              [this] {
                if (fate_ == StarterFate::fails) return pipe_->hang_up();
                // The launcher may have ended before it has written the order.
                if (const auto order = DialOrder::parse(as_text(input_))) start_agents_(*order);
              }});
  return SpawnedProcess{pipe_->take_near_end(), Fd(), std::nullopt, Fd()};
}

void SimulatedStarter::agents_speak() {
  if (pipe_ && fate_ == StarterFate::ends_early) pipe_->hang_up();
}

void SimulatedStarter::agents_ended() {
  if (pipe_) pipe_->hang_up();
}

}  // namespace dt
