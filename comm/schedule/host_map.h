#pragma once

#include <span>
#include <vector>

namespace dt {

/// Which ranks of a group are on one host. Hosts are numbered in the order of their lowest ranks.
class HostMap {
 public:
  /// `labels` has a number for each rank, which is equal for ranks on one host.
  explicit HostMap(std::span<const int> labels);

  int hosts() const { return static_cast<int>(ranks_.size()); }
  int host_of(int rank) const { return places_[static_cast<size_t>(rank)].host; }
  /// Returns the index of a rank among the ranks of its host.
  int local_index(int rank) const { return places_[static_cast<size_t>(rank)].index; }
  /// Returns the ranks of a host in ascending order.
  std::span<const int> ranks_of(int host) const { return ranks_[static_cast<size_t>(host)]; }
  /// Returns the number of ranks on the host that has the fewest.
  int fewest() const { return fewest_; }
  /// True when the ranks of each host follow each other, as do the hosts.
  bool is_in_order() const { return in_order_; }
  /// True when all hosts have equally many ranks.
  bool is_even() const { return places_.size() == static_cast<size_t>(fewest_) * ranks_.size(); }
  /// True when some hosts have several ranks, and there are several hosts.
  bool is_nested() const;

 private:
  struct Place {
    int host = 0;
    int index = 0;
  };
  std::vector<Place> places_;  ///< by rank
  std::vector<std::vector<int>> ranks_;
  int fewest_ = 0;
  bool in_order_ = true;
};

}  // namespace dt
