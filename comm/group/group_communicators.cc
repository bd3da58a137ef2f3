#include "comm/group/group_communicators.h"

#include "comm/collective/operation.h"

#include <utility>
#include <vector>

namespace dt {

namespace {

std::vector<MessageLink*> links_of(GroupPeers& peers) {
  std::vector<MessageLink*> links;
  links.reserve(static_cast<size_t>(peers.size()));
  for (int rank = 0; rank < peers.size(); ++rank)
    links.push_back(peers.link(rank));
  return links;
}

}  // namespace

GroupCommunicators::GroupCommunicators(GroupPeers& peers, std::shared_ptr<SharedArea> area,
                                       ScheduledCommunicator::MaySend may_send,
                                       std::function<void()> receives)
    : peers_(peers),
      receives_(std::move(receives)),
      links_({peers.rank(), peers.size(), &peers.hosts()}, links_of(peers), std::move(may_send)) {
  if (area && peers.hosts().hosts() == 1) {
    shared_ = std::make_unique<SharedCommunicator>(std::move(area), ranks_from_0(peers.size()));
  } else if (peers.has_host_memory() && peers.hosts().is_nested()) {
    hosts_ = std::make_unique<HierarchicalCommunicator>(peers, std::move(area), links_, receives_);
  }
}

void GroupCommunicators::start_in_memory(const Operation& operation, Time now) {
  current_ = shared_.get();
  current_->start(operation.request, operation.sequence,
                  {operation.request.timeout, deadline(operation)}, now);
}

void GroupCommunicators::start_over_links(const Operation& operation) {
  if (run_on_hosts(operation.request)) {
    current_ = hosts_.get();
    return current_->start(operation.request, operation.sequence, {}, {});
  }
  current_ = &links_;
  links_.start(operation.request, peers_.stream(operation.sequence), {}, {});
  receives_();
}

}  // namespace dt
