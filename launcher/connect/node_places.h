#pragma once

#include "base/result.h"
#include "launcher/protocol/node_messages.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// By which a node without rank claims a place; node 0 itself claims none.
inline constexpr int rankless_node = 0;
/// In the refusal of a node whose place another one has. It may be free a little later.
inline constexpr std::string_view place_taken = "is there already";
/// In the refusal of a node without which the job runs now.
inline constexpr std::string_view place_later = "takes its place at the next restart";

/// The place of a node in a job.
enum class PlaceState {
  awaited,
  taken,
  left_out,  ///< its node was lost, and a restart may want another
};

/// Decides which node takes which place in a job of nodes, and whether their users agree. Pure.
/// Place 0 is that of node 1, since node 0 is the launcher's own.
class NodePlaces {
 public:
  /// `own` is what node 0 would introduce itself with.
  explicit NodePlaces(NodeIntro own);

  /// Returns the place of a node with this rank. Fails with Errc::refused, with a text for both
  /// sides.
  Result<size_t> place_of(int rank, const std::vector<PlaceState>& places) const;
  /// Notes which node has the place now. Returns the name of its host in this job, which no other
  /// has. Fails with Errc::input when it wants another job, with both values.
  Result<std::string> take(size_t place, const NodeIntro& intro);
  /// Returns a warning for a node that runs another command than node 0; empty: it does not.
  std::string warning(size_t place, const NodeIntro& intro) const;

 private:
  std::string unique_name(size_t rank, const std::string& hostname) const;

  NodeIntro own_;
  std::vector<std::string> names_;  ///< by rank; empty: not known
};

}  // namespace dt
