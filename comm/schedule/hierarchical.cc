#include "comm/schedule/hierarchical.h"

#include "comm/schedule/barrier.h"
#include "comm/schedule/tree.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dt {

namespace {

using Ranges = std::vector<Range>;

/// Ranks that send in a ring, and the ranges that belong to each of them.
struct Ring {
  std::vector<int> ranks;
  int self = 0;  ///< the index of this rank
  std::vector<Ranges> owned;

  int size() const { return static_cast<int>(ranks.size()); }
  int index(int at) const { return (at % size() + size()) % size(); }
  int rank(int at) const { return ranks[static_cast<size_t>(index(at))]; }
  const Ranges& of(int at) const { return owned[static_cast<size_t>(index(at))]; }
};

/// One round of a ring: this rank sends the ranges of one owner and receives those of another.
struct Exchange {
  const Ranges& sent;
  const Ranges& received;
};

/// Appends a step for each range of the round. `step` makes it from the two ranges, which may be
/// empty on one side.
template <class MakeStep>
void append_round(Steps& steps, const Ring& ring, Exchange exchange, MakeStep step) {
  const size_t ranges = std::max(exchange.sent.size(), exchange.received.size());
  for (size_t i = 0; i < ranges; ++i) {
    const Range sent = i < exchange.sent.size() ? exchange.sent[i] : Range{};
    const Range received = i < exchange.received.size() ? exchange.received[i] : Range{};
    Step next = step(sent, received);
    next.send_to = ring.rank(ring.self + 1);
    next.receive_from = ring.rank(ring.self - 1);
    append_transfer(steps, next);
  }
}

/// Each owner's ranges arrive at all ranks of the ring.
void append_gather(Steps& steps, const Ring& ring) {
  for (int i = 0; i + 1 < ring.size(); ++i)
    append_round(
        steps, ring, {ring.of(ring.self - i), ring.of(ring.self - i - 1)},
        [](Range sent, Range received) { return Step{.send = sent, .receive = received}; });
}

/// The memory that a reduction reads, and the one that gets the sums.
struct Places {
  Place from = Place::input;
  Place to = Place::output;
};

/// Each owner gets the sums of its ranges. The other ranges of `to` are overwritten.
void append_reduce(Steps& steps, const Ring& ring, Places places) {
  for (int i = 0; i + 1 < ring.size(); ++i) {
    const Place sends = i == 0 ? places.from : places.to;
    append_round(steps, ring, {ring.of(ring.self - i - 1), ring.of(ring.self - i - 2)},
                 [&](Range sent, Range received) {
                   return Step{.send = sent.in(sends),
                               .receive = received.in(places.to),
                               .fold = Fold::operand_first,
                               .operand = received.in(places.from)};
                 });
  }
}

/// A rank's view of the hosts.
class View {
 public:
  View(Group group, const HostMap& hosts)
      : host(hosts.host_of(group.rank)),
        index(hosts.local_index(group.rank)),
        lanes(hosts.fewest()),
        hosts_(hosts) {}

  std::span<const int> local() const { return hosts_.ranks_of(host); }
  bool alone() const { return local().size() == 1; }
  /// True if this rank exchanges a lane with other hosts.
  bool in_lane() const { return index < lanes; }
  int lane_of(int rank) const { return hosts_.local_index(rank) % lanes; }
  /// The ranks that exchange a lane, one of each host.
  std::vector<int> lane_ranks(int lane) const {
    std::vector<int> ranks;
    for (int i = 0; i < hosts_.hosts(); ++i)
      ranks.push_back(hosts_.ranks_of(i)[static_cast<size_t>(lane)]);
    return ranks;
  }
  Ring local_ring() const {
    return {.ranks = {local().begin(), local().end()},
            .self = index,
            .owned = std::vector<Ranges>(local().size())};
  }
  Ring lane_ring() const {
    std::vector<int> ranks = lane_ranks(index);
    std::vector<Ranges> owned(ranks.size());
    return {.ranks = std::move(ranks), .self = host, .owned = std::move(owned)};
  }
  /// Within a host: the owner of each lane has the parts of all ranks of the lane, on all hosts.
  Ring local_ring_of_parts(Group group, size_t count, Place place) const {
    Ring ring = local_ring();
    for (int rank = 0; rank < group.size; ++rank)
      add(ring.owned[static_cast<size_t>(lane_of(rank))], equal_part(count, rank).in(place));
    return ring;
  }
  /// Across hosts: each rank has the parts of its host's ranks in this lane.
  Ring lane_ring_of_parts(Group group, size_t count, Place place) const {
    Ring ring = lane_ring();
    for (int rank = 0; rank < group.size; ++rank)
      if (lane_of(rank) == index)
        add(ring.owned[static_cast<size_t>(hosts_.host_of(rank))],
            equal_part(count, rank).in(place));
    return ring;
  }
  /// Calls `action` with each rank of this host that has no lane, and the rank that exchanges for
  /// it.
  template <class Action>
  void for_each_outside(Action action) const {
    for (size_t i = static_cast<size_t>(lanes); i < local().size(); ++i)
      action(local()[i], local()[i % static_cast<size_t>(lanes)]);
  }

  int host;
  int index;
  int lanes;

 private:
  /// Joins a range with the one before it where they touch.
  static void add(Ranges& ranges, Range range) {
    if (range.count() == 0) return;
    if (!ranges.empty() && ranges.back().end == range.begin) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }

  const HostMap& hosts_;
};

/// The place of a smaller schedule in this one: its ranks, and where its buffers lie.
struct Inset {
  std::vector<int> ranks;
  size_t begin = 0;            ///< of its buffers within those of this schedule
  Place input = Place::input;  ///< the buffer that is its input
};

void append_inset(Steps& steps, const Steps& inner, const Inset& inset) {
  const auto rank = [&](int of_inner) {
    return of_inner < 0 ? -1 : inset.ranks[static_cast<size_t>(of_inner)];
  };
  const auto moved = [&](Range range) {
    if (range.place == Place::work) return range;
    const Place place = range.place == Place::input ? inset.input : Place::output;
    return Range{range.begin + inset.begin, range.end + inset.begin, place};
  };
  for (const Step& step : inner) {
    steps.push_back({.send_to = rank(step.send_to),
                     .send = moved(step.send),
                     .receive_from = rank(step.receive_from),
                     .receive = moved(step.receive),
                     .fold = step.fold,
                     .operand = moved(step.operand)});
  }
}

int index_in(const std::vector<int>& ranks, int rank) {
  return static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

/// Moves ranges to where the ranks of a host begin.
Range behind(Range range, size_t begin) {
  return {range.begin + begin, range.end + begin, range.place};
}

}  // namespace

Steps hierarchical_all_reduce(Group group, const HostMap& hosts, size_t count,
                              const LaneReduce& across, bool in_place) {
  Steps steps;
  if (count == 0) return steps;
  const View view(group, hosts);
  Ring local = view.local_ring();
  for (int lane = 0; lane < view.lanes; ++lane) {
    const Range range = part_range(count, lane, view.lanes);
    if (range.count() > 0) local.owned[static_cast<size_t>(lane)] = {range};
  }
  append_reduce(steps, local, {});
  if (view.in_lane()) {
    const Range lane = part_range(count, view.index, view.lanes);
    const bool summed = !view.alone();  // the sums of the host are in the output
    const Steps exchange = across({view.host, hosts.hosts()}, lane.count(), in_place || summed);
    append_inset(steps, exchange,
                 {.ranks = view.lane_ranks(view.index),
                  .begin = lane.begin,
                  .input = summed ? Place::output : Place::input});
  }
  append_gather(steps, local);
  return steps;
}

Steps hierarchical_reduce_scatter(Group group, const HostMap& hosts, size_t count) {
  Steps steps;
  const View view(group, hosts);
  const Range own = equal_part(count, group.rank);
  const Range result{0, count};
  // All sums are in the work memory, because the output may be a part of the input.
  append_reduce(steps, view.local_ring_of_parts(group, count, Place::work),
                {Place::input, Place::work});
  Place sums = view.alone() ? Place::input : Place::work;
  if (view.in_lane()) {
    append_reduce(steps, view.lane_ring_of_parts(group, count, Place::work), {sums, Place::work});
    if (hosts.hosts() > 1) sums = Place::work;
  }
  view.for_each_outside([&](int outside, int exchanger) {
    if (outside == group.rank)
      append_transfer(steps, {.receive_from = exchanger, .receive = result});
    if (exchanger == group.rank)
      append_transfer(steps,
                      {.send_to = outside, .send = equal_part(count, outside).in(Place::work)});
  });
  if (view.in_lane()) append_copy(steps, group, own.in(sums), result);
  return steps;
}

Steps hierarchical_all_gather(Group group, const HostMap& hosts, size_t count) {
  Steps steps;
  const View view(group, hosts);
  const Range own = equal_part(count, group.rank);
  append_copy(steps, group, {0, count, Place::input}, own);
  view.for_each_outside([&](int outside, int exchanger) {
    if (outside == group.rank) append_transfer(steps, {.send_to = exchanger, .send = own});
    if (exchanger == group.rank)
      append_transfer(steps, {.receive_from = outside, .receive = equal_part(count, outside)});
  });
  if (view.in_lane()) append_gather(steps, view.lane_ring_of_parts(group, count, Place::output));
  append_gather(steps, view.local_ring_of_parts(group, count, Place::output));
  return steps;
}

Steps hierarchical_broadcast(Group group, const HostMap& hosts, size_t count, int root) {
  Steps steps;
  const View view(group, hosts);
  // The root represents its host, and the first rank any other.
  std::vector<int> leaders = view.lane_ranks(0);
  const int root_host = hosts.host_of(root);
  leaders[static_cast<size_t>(root_host)] = root;
  const int leader = leaders[static_cast<size_t>(view.host)];
  if (leader == group.rank)
    append_inset(steps, binomial_broadcast({view.host, hosts.hosts()}, count, root_host),
                 {.ranks = leaders});
  if (view.alone()) return steps;
  const std::vector<int> local(view.local().begin(), view.local().end());
  Steps inner = binomial_broadcast({view.index, static_cast<int>(local.size())}, count,
                                   index_in(local, leader));
  // The output of the leader has the data already.
  std::erase_if(inner, [&](const Step& step) { return step.send_to == view.index; });
  append_inset(steps, inner, {.ranks = local, .input = Place::output});
  return steps;
}

HostPhases all_reduce_on_hosts(Group group, const HostMap& hosts, ReducedBuffer buffer,
                               const LaneReduce& across) {
  HostPhases phases;
  View view(group, hosts);
  if (buffer.small) view.lanes = 1;
  const Range all{0, buffer.count};
  if (!view.alone()) {
    phases.before = {{.kind = OperationKind::reduce_scatter,
                      .input = all.in(Place::input),
                      .output = all,
                      .lanes = view.lanes}};
    phases.after = {
        {.kind = OperationKind::all_gather, .input = all, .output = all, .lanes = view.lanes}};
  }
  if (!view.in_lane()) return phases;
  const Range lane = part_range(buffer.count, view.index, view.lanes);
  phases.summed = lane;
  if (lane.count() == 0) return phases;
  const bool summed = !view.alone();  // the sums of the host are in the output
  append_inset(phases.across,
               across({view.host, hosts.hosts()}, lane.count(), buffer.in_place || summed),
               {.ranks = view.lane_ranks(view.index),
                .begin = lane.begin,
                .input = summed ? Place::output : Place::input});
  return phases;
}

HostPhases reduce_scatter_on_hosts(Group group, const HostMap& hosts, size_t count) {
  HostPhases phases;
  const View view(group, hosts);
  const size_t of_host = count * view.local().size();
  const Range own = equal_part(count, group.rank);
  // All sums are in the work memory, because the output may be a part of the input.
  for (int host = 0; host < hosts.hosts() && !view.alone(); ++host) {
    const Range part = equal_part(of_host, host);
    phases.before.push_back({.kind = OperationKind::reduce_scatter,
                             .input = part.in(Place::input),
                             .output = part.in(Place::work),
                             .lanes = view.lanes});
  }
  append_reduce(phases.across, view.lane_ring_of_parts(group, count, Place::work),
                {view.alone() ? Place::input : Place::work, Place::work});
  append_copy(phases.across, group, own.in(Place::work), {0, count});
  phases.summed = {0, count};
  return phases;
}

HostPhases all_gather_on_hosts(Group group, const HostMap& hosts, size_t count) {
  HostPhases phases;
  const View view(group, hosts);
  const auto of_host = [&](int host) {
    const std::span<const int> ranks = hosts.ranks_of(host);
    const size_t begin = equal_part(count, ranks.front()).begin;
    return Range{begin, begin + count * ranks.size()};
  };
  if (view.alone()) {
    append_copy(phases.across, group, {0, count, Place::input}, equal_part(count, group.rank));
  } else {
    phases.before = {{.kind = OperationKind::all_gather,
                      .input = {0, count, Place::input},
                      .output = of_host(view.host)}};
  }
  if (view.in_lane()) {
    Ring ring = view.lane_ring();
    for (int host = 0; host < hosts.hosts(); ++host) {
      const Range part = of_host(host);
      const Range lane = part_range(part.count(), view.index, view.lanes);
      if (lane.count() > 0) ring.owned[static_cast<size_t>(host)] = {behind(lane, part.begin)};
    }
    append_gather(phases.across, ring);
  }
  for (int host = 0; host < hosts.hosts() && !view.alone(); ++host) {
    if (host == view.host) continue;
    const Range part = of_host(host);
    phases.after.push_back(
        {.kind = OperationKind::all_gather, .input = part, .output = part, .lanes = view.lanes});
  }
  return phases;
}

HostPhases broadcast_on_hosts(Group group, const HostMap& hosts, size_t count, int root) {
  HostPhases phases;
  const View view(group, hosts);
  // The root represents its host, and the first rank any other.
  std::vector<int> leaders = view.lane_ranks(0);
  const int root_host = hosts.host_of(root);
  leaders[static_cast<size_t>(root_host)] = root;
  const int leader = leaders[static_cast<size_t>(view.host)];
  if (leader == group.rank)
    append_inset(phases.across, binomial_broadcast({view.host, hosts.hosts()}, count, root_host),
                 {.ranks = leaders});
  if (view.alone()) return phases;
  const Place place = group.rank == root ? Place::input : Place::output;
  phases.after = {{.kind = OperationKind::broadcast,
                   .input = {0, count, place},
                   .output = {0, count},
                   .root = hosts.local_index(leader)}};
  return phases;
}

HostPhases barrier_on_hosts(Group group, const HostMap& hosts) {
  HostPhases phases;
  const View view(group, hosts);
  if (view.index == 0)
    append_inset(phases.across, dissemination_barrier({view.host, hosts.hosts()}),
                 {.ranks = view.lane_ranks(0)});
  if (!view.alone()) phases.before = phases.after = {HostPhase{}};
  return phases;
}

}  // namespace dt
