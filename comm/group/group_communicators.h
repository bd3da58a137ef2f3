#pragma once

#include "comm/collective/group_peers.h"
#include "comm/collective/hierarchical_communicator.h"
#include "comm/collective/scheduled_communicator.h"
#include "comm/collective/shared_communicator.h"

#include <functional>
#include <memory>

namespace dt {

/// The communicators of a group: over links, in the memory of its only host, or in the memory of
/// each of its hosts and over links between them. One of them runs a collective at a time.
class GroupCommunicators {
 public:
  /// `area` is the memory of the members on this rank's host; null if there is none. `receives` is
  /// called when the running collective can receive data over links. Requires that `peers` outlives
  /// this object.
  GroupCommunicators(GroupPeers& peers, std::shared_ptr<SharedArea> area,
                     ScheduledCommunicator::MaySend may_send, std::function<void()> receives);

  /// True when all ranks share memory.
  bool share_memory() const { return shared_ != nullptr; }
  /// True for calls that run in the memory of several hosts; the same on all ranks.
  bool run_on_hosts(const OperationRequest& request) const {
    return hosts_ && hosts_->runs(request);
  }

  /// Starts a collective in the memory of all ranks. Requires share_memory().
  void start_in_memory(const Operation& operation, Time now);
  /// Starts a collective that the memory of all ranks does not run.
  void start_over_links(const Operation& operation);

  /// The communicator of the last collective that was started.
  Communicator& current() const { return *current_; }
  bool uses_links() const { return current_ != shared_.get(); }
  /// The communicator that takes the data frames of the group.
  ScheduledCommunicator& links() { return links_; }
  const ScheduledCommunicator& links() const { return links_; }

 private:
  const GroupPeers& peers_;
  std::function<void()> receives_;
  ScheduledCommunicator links_;
  std::unique_ptr<SharedCommunicator> shared_;       ///< null: not all ranks share memory
  std::unique_ptr<HierarchicalCommunicator> hosts_;  ///< null unless those of each host do
  Communicator* current_ = &links_;
};

}  // namespace dt
