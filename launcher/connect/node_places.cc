#include "launcher/connect/node_places.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

std::string shown(const std::vector<std::string>& command) {
  return printable(join(command, " "), 200);
}

}  // namespace

NodePlaces::NodePlaces(NodeIntro own)
    : own_(std::move(own)), names_(static_cast<size_t>(own_.count)) {
  names_[0] = own_.hostname;
}

Result<size_t> NodePlaces::place_of(int rank, const std::vector<PlaceState>& places) const {
  if (rank == rankless_node) {
    const auto first = std::ranges::find(places, PlaceState::awaited);
    if (first != places.end()) return static_cast<size_t>(first - places.begin());
    if (std::ranges::count(places, PlaceState::left_out) > 0)
      return fail(Errc::refused, format("this node {}", place_later));
    return fail(Errc::refused, format("each of the {} nodes {}", own_.count, place_taken));
  }
  if (rank < 0 || rank >= own_.count) {
    return fail(Errc::refused, format("node {} has no place: node 0 has --nnodes {}, so that ranks "
                                      "of nodes are 0 to {}",
                                      rank, own_.count, own_.count - 1));
  }
  const auto place = static_cast<size_t>(rank - 1);
  if (places[place] == PlaceState::awaited) return place;
  const std::string& name = names_[static_cast<size_t>(rank)];
  const std::string node =
      name.empty() ? format("node {}", rank) : format("node {} ({})", rank, name);
  if (places[place] == PlaceState::left_out)
    return fail(Errc::refused, format("{} {}", node, place_later));
  return fail(Errc::refused, format("{} {}; each node needs a rank of its own", node, place_taken));
}

Result<std::string> NodePlaces::take(size_t place, const NodeIntro& intro) {
  const size_t rank = place + 1;
  const auto differs = [&](std::string_view what, const std::string& here,
                           const std::string& there) {
    return fail(Errc::input,
                format("node {} ({}) has {}, node 0 ({}) has {}; they must agree", rank,
                       printable(intro.hostname),
                       there.empty() ? format("no {}", what) : format("{} {}", what, there),
                       own_.hostname, here.empty() ? std::string("none") : here));
  };
  if (intro.build != own_.build) return differs("dtrain", own_.build, printable(intro.build));
  if (intro.count != own_.count)
    return differs("--nnodes", format("{}", own_.count), format("{}", intro.count));
  if (intro.processes != own_.processes)
    return differs("--nproc-per-node", own_.processes, printable(intro.processes));
  // One that returns keeps the name that the plan has for it.
  if (names_[rank].empty()) names_[rank] = unique_name(rank, printable(intro.hostname));
  return names_[rank];
}

std::string NodePlaces::warning(size_t place, const NodeIntro& intro) const {
  if (intro.command == own_.command) return "";
  return format("{} runs its own command: {}; node 0 runs: {}", names_[place + 1],
                shown(intro.command), shown(own_.command));
}

std::string NodePlaces::unique_name(size_t rank, const std::string& hostname) const {
  const bool taken = hostname.empty() || std::ranges::count(names_, hostname) > 0;
  return taken ? format("{}-node{}", hostname, rank) : hostname;
}

}  // namespace dt
