#pragma once

#include "base/clock.h"
#include "launcher/process/process_state.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A rank for which others wait, and that does not wait in the same operation.
struct MissingRank {
  int rank = 0;
  std::string waits_in = {};      ///< its own pending operation; empty: none that it has reported
  std::vector<int> awaited = {};  ///< the ranks for which it waits there
  bool answered = false;          ///< a call of libdtrain runs in it
  ProcessState state = {};        ///< without a pid: unknown
  bool operator==(const MissingRank&) const = default;
};

/// A time in which ranks waited for others in one operation.
struct StallRecord {
  struct Waiter {
    int rank = 0;
    std::vector<int> awaited;
    bool operator==(const Waiter&) const = default;
  };
  std::string operation;    ///< `all_reduce #12 "grad"`
  uint32_t group = 0;       ///< 0: all ranks
  std::string last_before;  ///< the collective before it; empty: unknown
  Time began;               ///< when data moved last
  Time noticed;
  std::optional<Time> ended = {};
  std::vector<Waiter> waiting = {};       ///< by rank
  std::vector<MissingRank> missing = {};  ///< ranks that do not answer come first
  bool operator==(const StallRecord&) const = default;
};

}  // namespace dt
