#pragma once

#include "base/clock.h"
#include "launcher/config/hosts/hosts.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace dt {

/// Exit statuses from `first` to `last`. Status 128 + N is that of a process killed by signal N.
struct StatusRange {
  int first = 1;
  int last = 255;
  bool contains(int status) const { return first <= status && status <= last; }
  bool operator==(const StatusRange&) const = default;
};

/// The limits of a job whose ranked role has as many tasks as the hosts that are there have slots.
struct JobSize {
  int ranks_min = 1;               ///< --min-np
  int ranks_max = 0;               ///< --max-np; 0: one rank for each slot
  std::optional<int> ranks_first;  ///< -np: slots that must be there before the first start
  int hosts_min = 1;               ///< MIN of --nnodes MIN:MAX
  int hosts_max = 0;               ///< MAX of --nnodes MIN:MAX; 0: all
  bool operator==(const JobSize&) const = default;
};

/// --blacklist-cooldown-range: how long a host that failed is kept out.
struct CooldownRange {
  Duration least = {};
  Duration most = {};
  bool operator==(const CooldownRange&) const = default;
};

/// The number of restarts of a job that restarts without a limit.
inline constexpr uint32_t unlimited_restarts = std::numeric_limits<int32_t>::max();

/// When a job that has failed starts again, and with how many ranks.
struct RestartOptions {
  uint32_t max = 0;                         ///< --max-restarts, or --reset-limit
  std::vector<StatusRange> on;              ///< --restart-on; empty: after every failure
  std::vector<Host> spares;                 ///< --spare: take the places of lost hosts
  std::optional<JobSize> size;              ///< none: the number of ranks is fixed
  Duration elastic_timeout = seconds(600);  ///< how long a job waits for the slots that it needs
  std::optional<CooldownRange> cooldown;    ///< none: a failed task excludes no host
  bool operator==(const RestartOptions&) const = default;
};

/// Parses "42,143,128-255", statuses of failures: 1 to 255. None for any other text.
std::optional<std::vector<StatusRange>> parse_statuses(std::string_view text);

}  // namespace dt
