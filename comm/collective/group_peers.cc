#include "comm/collective/group_peers.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace dt {

namespace {

/// Returns the number of each rank's host.
std::vector<int> labels_of(const Peers& peers, const std::vector<int>& job_ranks) {
  std::vector<int> labels;
  labels.reserve(job_ranks.size());
  for (const int rank : job_ranks)
    labels.push_back(peers.host(rank));
  return labels;
}

}  // namespace

GroupPeers::GroupPeers(Peers& peers, uint32_t group, std::vector<int> ranks, bool host_memory)
    : peers_(peers),
      group_(group),
      ranks_(std::move(ranks)),
      rank_(rank_of(peers.rank())),
      hosts_(labels_of(peers, ranks_)),
      host_memory_(host_memory),
      algorithms_(peers.algorithms(),
                  {.ranks = size(), .hosts = hosts_.hosts(), .memory = host_memory}) {
  assert(group < groups_max && rank_ >= 0);
}

int GroupPeers::rank_of(int job_rank) const {
  const auto found = std::find(ranks_.begin(), ranks_.end(), job_rank);
  return found == ranks_.end() ? -1 : static_cast<int>(found - ranks_.begin());
}

uint32_t GroupPeers::stream(uint64_t sequence) const {
  constexpr uint64_t mask = (uint64_t{1} << sequence_bits) - 1;
  return (group_ << sequence_bits) | static_cast<uint32_t>(sequence & mask);
}

int GroupPeers::distance(uint32_t stream, uint64_t sequence) {
  constexpr int wrap = 1 << sequence_bits;
  const auto behind = (stream - static_cast<uint32_t>(sequence)) & uint32_t{wrap - 1};
  const int distance = static_cast<int>(behind);
  return distance < wrap / 2 ? distance : distance - wrap;
}

void GroupPeers::send(int rank, EngineMessageType type, uint64_t sequence, ByteSpan payload) {
  peers_.send(job_rank(rank), type, stream(sequence), payload);
}

void GroupPeers::send_all(EngineMessageType type, uint64_t sequence, ByteSpan payload,
                          Recipients recipients) {
  for (int rank = 0; rank < size(); ++rank)
    peers_.send(job_rank(rank), type, stream(sequence), payload, recipients);
}

std::vector<int> ranks_from_0(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace dt
