#pragma once

#include "comm/collective/peers.h"
#include "comm/schedule/algorithm_table.h"
#include "comm/schedule/host_map.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// The ranks of one group, numbered from 0 within it. Collectives see the other ranks through this.
/// Blamed ranks and the ranks in texts are those of the job.
///
/// The stream of a collective's frames has the group's number in its upper bits. The other bits
/// have the end of the sequence number. At most two collectives of a group are under way, so these
/// bits are enough to tell them apart.
class GroupPeers {
 public:
  static constexpr uint32_t sequence_bits = 12;
  static constexpr uint32_t groups_max = uint32_t{1} << (32 - sequence_bits);

  /// `ranks` has the job's rank of each member, with this rank among them. `host_memory`: the
  /// members of each host share memory; equal on all members.
  GroupPeers(Peers& peers, uint32_t group, std::vector<int> ranks, bool host_memory = false);

  uint32_t number() const { return group_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const std::vector<int>& job_ranks() const { return ranks_; }
  int job_rank(int rank) const { return ranks_[static_cast<size_t>(rank)]; }
  /// Returns -1 for a rank of the job that is no member.
  int rank_of(int job_rank) const;

  /// Which members share a host.
  const HostMap& hosts() const { return hosts_; }
  bool has_host_memory() const { return host_memory_; }
  const AlgorithmTable& algorithms() const { return algorithms_; }

  uint32_t stream(uint64_t sequence) const;
  static uint32_t group_of(uint32_t stream) { return stream >> sequence_bits; }
  /// Returns how many collectives the stream's one comes behind that sequence number; negative:
  /// before. Right for fewer than 2^11.
  static int distance(uint32_t stream, uint64_t sequence);

  // As in Peers:
  size_t unasked_bytes_max() const { return peers_.unasked_bytes_max(); }
  std::string name(int rank) const { return peers_.name(job_rank(rank)); }
  bool gone(int rank) const { return peers_.gone(job_rank(rank)); }
  bool has_left(int rank) const { return peers_.has_left(job_rank(rank)); }
  std::string gone_reason(int rank) const { return peers_.gone_reason(job_rank(rank)); }
  MessageLink* link(int rank) { return peers_.link(job_rank(rank)); }
  Result<> check_blamed(int job_rank) const { return peers_.check_blamed(job_rank); }
  void send(int rank, EngineMessageType type, uint64_t sequence, ByteSpan payload);
  void send_all(EngineMessageType type, uint64_t sequence, ByteSpan payload,
                Recipients recipients = Recipients::all);
  void connect(int rank) { peers_.connect(job_rank(rank)); }

 private:
  Peers& peers_;
  uint32_t group_;
  std::vector<int> ranks_;
  int rank_;
  HostMap hosts_;
  bool host_memory_;
  AlgorithmTable algorithms_;
};

/// Returns 0 … size - 1.
std::vector<int> ranks_from_0(int size);

}  // namespace dt
