#pragma once

#include "base/clock.h"
#include "launcher/config/restarts/restart_options.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Keeps hosts on which a task has failed out of the next generations, for as long as horovodrun
/// does: min(most, max(least, least * 2^count + random * least)). Here, `count` is the number of
/// the host's failures. No clock, and no randomness of its own.
class HostCooldown {
 public:
  explicit HostCooldown(CooldownRange range) : range_(range) {}

  /// Keeps the host out from now on. `random` is of 0 to 1. A host that is out stays as it is: its
  /// other tasks fail together with the first.
  void failed(const std::string& host, Time now, double random);
  bool is_out(std::string_view host, Time now) const;
  /// Returns when a host that has failed may be used again.
  Time end(const std::string& host) const { return hosts_.find(host)->second.end; }
  /// Returns when the next host that is out may be used again; none: no host is out.
  std::optional<Time> next_end(Time now) const;

 private:
  struct Record {
    int failures = 0;
    Time end = {};
  };
  Duration delay(int failures, double random) const;

  CooldownRange range_;
  std::map<std::string, Record, std::less<>> hosts_;
};

}  // namespace dt
