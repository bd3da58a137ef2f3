#pragma once

#include <cstdint>
#include <optional>

namespace dt {

/// In which order processes are dealt to hosts, or ranks to processes.
enum class DealBy : uint8_t {
  slot,  ///< one host is served fully before the next
  node,  ///< one to each host in turn, then again
};

/// Who is placed where.
struct PlacementOptions {
  DealBy map_by = DealBy::slot;
  DealBy rank_by = DealBy::slot;  ///< as map_by, unless it was given
  std::optional<int> per_host;    ///< --ppn: processes a host, whatever slots it has
  bool operator==(const PlacementOptions&) const = default;
};

}  // namespace dt
