#include "comm/group/operation_queue.h"

#include "comm/collective/descriptor.h"

#include <algorithm>
#include <utility>

namespace dt {

void OperationQueue::push(std::shared_ptr<Operation> operation) {
  operation->sequence = take_sequence();
  limits_.push(operation->sequence, deadline(*operation));
  queue_.push_back(std::move(operation));
}

void OperationQueue::pop_front() {
  last_kind_ = called(front().request).kind;
  // Allocates nothing, unless it is the longest so far.
  if (!last_name_.empty() || !front().request.name.empty()) last_name_ = front().request.name;
  limits_.pop_to(front().sequence);
  queue_.pop_front();
}

bool OperationQueue::is_stopped_by(const CollectiveStop& stop) const {
  return !queue_.empty() && queue_.back()->sequence >= stop.from;
}

void OperationQueue::end_from(const CollectiveStop& stop) {
  while (is_stopped_by(stop)) {
    Operation& last = *queue_.back();
    const bool first = last.sequence == stop.from;
    end(last, first ? stop.why : OperationFailure{stop.why.code, stop.why.blamed_rank, stop.later});
    queue_.pop_back();
  }
  note_limits();
}

void OperationQueue::end_all(const OperationFailure& why) {
  for (const std::shared_ptr<Operation>& operation : queue_)
    end(*operation, why);
  queue_.clear();
  limits_.clear();
}

/// Notes the limits of the operations that a stop has left.
void OperationQueue::note_limits() {
  limits_.clear();
  for (const std::shared_ptr<Operation>& operation : queue_)
    limits_.push(operation->sequence, deadline(*operation));
}

const Operation* OperationQueue::overdue_behind_front(Time now) const {
  if (next_limit() > now) return nullptr;
  return std::find_if(queue_.begin() + 1, queue_.end(),
                      [&](const auto& operation) { return deadline(*operation) <= now; })
      ->get();
}

std::string OperationQueue::last_label() const {
  const uint64_t last = first_sequence() - 1;
  return last == 0 ? "" : collective_label(last_kind_, last, last_name_);
}

}  // namespace dt
