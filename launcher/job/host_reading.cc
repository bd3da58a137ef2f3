#include "launcher/job/host_reading.h"

#include <utility>

namespace dt {

void HostReading::start() {
  if (!has_source() || is_under_way()) return;
  state_->is_under_way = true;
  read_at_ = loop_.now();
  read_([state = state_](Result<std::vector<Host>> hosts) {
    state->is_under_way = false;
    state->result = std::move(hosts);
  });
}

void HostReading::start_after(Duration pause) {
  if (loop_.now() >= read_at_ + pause) start();
}

std::optional<std::vector<Host>> HostReading::take() {
  auto result = std::exchange(state_->result, std::nullopt);
  if (!result) return std::nullopt;
  if (*result) {
    failure_.clear();
    return **std::move(result);
  }
  std::string& why = result->error().message;
  if (why != failure_) log_.warn("{}; the hosts that were named before stay", why);
  failure_ = std::move(why);
  return std::nullopt;
}

}  // namespace dt
