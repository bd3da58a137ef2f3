#include "comm/collective/hierarchical_communicator.h"

#include "comm/collective/descriptor.h"
#include "comm/collective/operation.h"
#include "comm/collective/reduce.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dt {

namespace {

/// The elements of work memory that the phases in memory use.
size_t work_elements_of(const HostPhases& phases) {
  size_t elements = 0;
  for (const auto* list : {&phases.before, &phases.after})
    for (const HostPhase& phase : *list)
      for (const Range& range : {phase.input, phase.output})
        if (range.place == Place::work) elements = std::max(elements, range.end);
  return elements;
}

}  // namespace

HierarchicalCommunicator::HierarchicalCommunicator(const GroupPeers& peers,
                                                   std::shared_ptr<SharedArea> area,
                                                   ScheduledCommunicator& across,
                                                   std::function<void()> released)
    : peers_(peers), across_(across), released_(std::move(released)) {
  if (!area) return;
  const std::span<const int> local = peers.hosts().ranks_of(peers.hosts().host_of(peers.rank()));
  memory_ = std::make_unique<SharedCommunicator>(std::move(area),
                                                 std::vector<int>(local.begin(), local.end()));
}

bool HierarchicalCommunicator::runs(const OperationRequest& request) const {
  if (request.steps || !runs_on_hosts(peers_.hosts(), request.kind)) return false;
  if (request.kind == OperationKind::barrier) return true;
  const bool chosen = request.algorithm == Algorithm::hierarchical;
  return chosen && request.count > 0 && request.reduce != ReduceOp::adasum;
}

const HierarchicalCommunicator::Call& HierarchicalCommunicator::call_of(
    const CollectiveShape& shape) {
  for (const std::optional<Call>& call : calls_)
    if (call && call->shape == shape) return *call;
  const Group group{peers_.rank(), peers_.size(), &peers_.hosts()};
  std::optional<Call>& call = calls_[oldest_];
  oldest_ = (oldest_ + 1) % calls_max;
  call = Call{.shape = shape, .phases = host_phases_of(group, peers_.hosts(), shape)};
  call->work_elements = work_elements_of(call->phases);
  return *call;
}

void HierarchicalCommunicator::start(const OperationRequest& request, uint64_t sequence,
                                     CallLimit /*limit*/, Time /*now*/) {
  assert(state_ != State::running);
  request_ = &request;
  sequence_ = sequence;
  hash_ = call_hash(request, sequence);
  call_ = &call_of(shape_of(request));
  state_ = State::running;
  stage_ = Stage::before;
  next_ = 0;
  in_memory_ = 0;
  across_.start_held(request, peers_.stream(sequence), call_->phases.across, call_->work_elements);
  begin_next();
}

const std::vector<HostPhase>& HierarchicalCommunicator::phases() const {
  return stage_ == Stage::before ? call_->phases.before : call_->phases.after;
}

/// Begins the phase `next_` of the stage, or the next stage.
void HierarchicalCommunicator::begin_next() {
  if (next_ < phases().size()) return start_phase(phases()[next_]);
  if (stage_ == Stage::after) {
    state_ = State::done;
    return;
  }
  stage_ = Stage::across;
  across_.release();
  released_();
}

void HierarchicalCommunicator::start_phase(const HostPhase& phase) {
  const ReduceOp reduce = request_->reduce;
  local_.kind = phase.kind;
  local_.type = request_->type;
  local_.reduce = reduce == ReduceOp::average ? ReduceOp::sum : reduce;
  local_.peer = phase.root;
  local_.count = phase.input.count();
  local_.input = across_.at(phase.input);
  local_.output = across_.at(phase.output);
  local_.lanes = phase.lanes;
  memory_->start_phase(local_, MailboxRound::of(sequence_, in_memory_++), hash_);
}

bool HierarchicalCommunicator::step(Time now) {
  bool moved = false;
  while (state_ == State::running) {
    const bool step_moved = in_memory() ? step_memory(now) : step_across(now);
    if (!step_moved) break;
    moved = true;
  }
  return moved;
}

bool HierarchicalCommunicator::step_memory(Time now) {
  const bool moved = memory_->step(now);
  if (memory_->state() == State::mismatch) {
    state_ = State::mismatch;
    return true;
  }
  if (memory_->state() != State::done) return moved;
  ++next_;
  begin_next();
  return true;
}

bool HierarchicalCommunicator::step_across(Time now) {
  const bool moved = across_.step(now);
  if (across_.state() != State::done) return moved;
  average();
  stage_ = Stage::after;
  next_ = 0;
  begin_next();
  return true;
}

/// Divides the sums that this rank has.
void HierarchicalCommunicator::average() const {
  const Range& summed = call_->phases.summed;
  if (!reduces(request_->kind) || request_->reduce != ReduceOp::average) return;
  const size_t before = summed.begin * element_bytes(request_->type);
  average_over(request_->type, static_cast<std::byte*>(request_->output) + before, summed.count(),
               peers_.size());
}

int HierarchicalCommunicator::waits_for() const {
  if (state_ != State::running) return -1;
  return in_memory() ? memory_->waits_for() : across_.waits_for();
}

bool HierarchicalCommunicator::needs(int rank) const {
  if (!in_memory()) return waits_for() == rank;
  const HostMap& hosts = peers_.hosts();
  return hosts.host_of(rank) == hosts.host_of(peers_.rank()) && memory_->needs(rank);
}

uint64_t HierarchicalCommunicator::progress() const {
  constexpr int phase_bit = 56;
  const uint64_t phase = in_memory_ * 2 + (stage_ == Stage::across ? 1 : 0);
  return (phase << phase_bit) ^ across_.progress() ^ (in_memory() ? memory_->progress() : 0);
}

void HierarchicalCommunicator::cancel() {
  if (memory_) memory_->cancel();
  across_.cancel();
  state_ = State::idle;
}

}  // namespace dt
