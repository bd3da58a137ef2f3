#include "launcher/job/generations/host_cooldown.h"

#include <algorithm>

namespace dt {

Duration HostCooldown::delay(int failures, double random) const {
  Duration delay = range_.least;
  for (int i = 0; i < failures && delay < range_.most; ++i)
    delay *= 2;
  delay += duration_cast<Duration>(range_.least * random);
  return std::clamp(delay, range_.least, range_.most);
}

void HostCooldown::failed(const std::string& host, Time now, double random) {
  if (is_out(host, now)) return;
  Record& record = hosts_[host];
  ++record.failures;
  record.end = now + delay(record.failures, random);
}

bool HostCooldown::is_out(std::string_view host, Time now) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() && now < found->second.end;
}

std::optional<Time> HostCooldown::next_end(Time now) const {
  std::optional<Time> next;
  for (const auto& [host, record] : hosts_) {
    if (now < record.end && (!next || record.end < *next)) next = record.end;
  }
  return next;
}

}  // namespace dt
