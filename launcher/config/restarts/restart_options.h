#pragma once

#include "launcher/config/hosts/hosts.h"

#include <cstdint>
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

/// When a job that has failed starts again.
struct RestartOptions {
  uint32_t max = 0;             ///< --max-restarts
  std::vector<StatusRange> on;  ///< --restart-on; empty: after every failure
  std::vector<Host> spares;     ///< --spare: take the places of lost hosts
  bool operator==(const RestartOptions&) const = default;
};

/// Parses "42,143,128-255", statuses of failures: 1 to 255. None for any other text.
std::optional<std::vector<StatusRange>> parse_statuses(std::string_view text);

}  // namespace dt
