#include "comm/engine/scheduled_communicator.h"

#include "base/format.h"
#include "comm/engine/messages.h"

#include <cassert>
#include <cstring>
#include <utility>

namespace dt {

namespace {

/// Up to this size, fewer steps save more time than fewer bytes.
constexpr size_t tree_bytes_max = 32 << 10;
constexpr auto collective_data = static_cast<uint8_t>(EngineMessageType::collective_data);

/// The ranges may overlap or be equal: users reduce in place.
void copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, bytes);
}

Steps steps_of(const OperationRequest& request, Group group) {
  switch (request.kind) {
    case OperationKind::all_reduce:
      return request.count * element_bytes(request.type) <= tree_bytes_max
                 ? tree_all_reduce(group, request.count)
                 : ring_all_reduce(group, request.count);
    case OperationKind::broadcast:
      return binomial_broadcast(group, request.count, request.peer);
    case OperationKind::all_gather:
      return ring_all_gather(group, request.count);
    case OperationKind::reduce_scatter:
      return ring_reduce_scatter(group, request.count);
    case OperationKind::barrier:
      return dissemination_barrier(group);
    case OperationKind::send:
    case OperationKind::receive:
      break;
  }
  assert(!"not a collective");
  return {};
}

}  // namespace

ScheduledCommunicator::ScheduledCommunicator(Group group, std::vector<MessageLink*> links)
    : group_(group), links_(std::move(links)) {
}

void ScheduledCommunicator::start(const OperationRequest& request, uint64_t sequence,
                                  CallLimit /*limit*/, Time /*now*/) {
  assert(done_);
  request_ = &request;
  stream_ = static_cast<uint32_t>(sequence);
  steps_ = steps_of(request, group_);
  next_ = 0;
  send_started_ = false;
  received_elements_ = 0;
  done_ = false;
  reduction_ = {request.type, request.reduce};
  element_bytes_ = element_bytes(request.type);
  prepare();
}

void ScheduledCommunicator::prepare() {
  const OperationRequest& r = *request_;
  const size_t bytes = r.count * element_bytes_;
  buffer_ = static_cast<std::byte*>(r.output);
  switch (r.kind) {
    case OperationKind::all_reduce:
      return copy(buffer_, r.input, bytes);
    case OperationKind::broadcast:
      if (group_.rank != r.peer) return;
      // The root only reads, so it needs no output.
      if (r.output == nullptr)
        buffer_ = const_cast<std::byte*>(static_cast<const std::byte*>(r.input));
      return copy(buffer_, r.input, bytes);
    case OperationKind::all_gather:
      return copy(at(static_cast<size_t>(group_.rank) * r.count), r.input, bytes);
    case OperationKind::reduce_scatter:
      own_buffer_.resize(bytes * static_cast<size_t>(group_.size));
      buffer_ = own_buffer_.data();
      return copy(buffer_, r.input, own_buffer_.size());
    default:  // a barrier's tokens
      own_buffer_.assign(2, std::byte{0});
      buffer_ = own_buffer_.data();
      element_bytes_ = 1;
      return;
  }
}

bool ScheduledCommunicator::step(Time /*now*/) {
  bool moved = false;
  while (!done_) {
    if (next_ == steps_.size()) {
      finish();
      return true;
    }
    const Step& step = steps_[next_];
    if (!send_started_ && step.send_to >= 0) {
      MessageLink& link = *links_[static_cast<size_t>(step.send_to)];
      link.send_data(collective_data, stream_,
                     {at(step.send.begin), step.send.count() * element_bytes_});
      moved = true;
    }
    send_started_ = true;
    if (!sent() || !received()) break;
    ++next_;
    send_started_ = false;
    received_elements_ = 0;
    moved = true;
  }
  return moved;
}

bool ScheduledCommunicator::sent() const {
  const int to = steps_[next_].send_to;
  return to < 0 ||
         (send_started_ && !links_[static_cast<size_t>(to)]->sending(collective_data, stream_));
}

bool ScheduledCommunicator::received() const {
  const Step& step = steps_[next_];
  return step.receive_from < 0 || received_elements_ == step.receive.count();
}

int ScheduledCommunicator::waits_for() const {
  if (done_ || next_ == steps_.size()) return -1;
  if (!received()) return steps_[next_].receive_from;
  return sent() ? -1 : steps_[next_].send_to;
}

void ScheduledCommunicator::cancel() {
  if (done_) return;
  for (MessageLink* link : links_) {
    if (link == nullptr) continue;
    link->cancel_send(collective_data, stream_);
    link->cancel_receive(collective_data, stream_);
  }
  done_ = true;
}

Result<PayloadTarget> ScheduledCommunicator::place(const Message& message) {
  // The sender may be some steps ahead of this rank: its data waits in the link.
  if (done_ || next_ == steps_.size() || steps_[next_].receive_from != message.from || received())
    return PayloadTarget{};
  const Step& step = steps_[next_];
  const size_t elements = message.length / element_bytes_;
  if (elements * element_bytes_ != message.length ||
      elements > step.receive.count() - received_elements_)
    return fail(Errc::protocol, format("data frame of {} bytes does not fit", message.length));
  if (!step.reduce)
    return PayloadTarget{PayloadTarget::Action::take,
                         {at(step.receive.begin + received_elements_), message.length}};
  scratch_.resize(message.length);
  return PayloadTarget{PayloadTarget::Action::take, scratch_};
}

Result<> ScheduledCommunicator::arrived(const Message& message) {
  assert(!done_ && next_ < steps_.size());
  const Step& step = steps_[next_];
  const size_t elements = message.length / element_bytes_;
  if (step.reduce)
    reduction_.apply(at(step.receive.begin + received_elements_), scratch_.data(), elements);
  received_elements_ += elements;
  return {};
}

void ScheduledCommunicator::finish() {
  const OperationRequest& r = *request_;
  if (r.kind == OperationKind::reduce_scatter)
    copy(r.output, at(static_cast<size_t>(group_.rank) * r.count), r.count * element_bytes_);
  const bool reduced =
      r.kind == OperationKind::all_reduce || r.kind == OperationKind::reduce_scatter;
  if (reduced && r.reduce == ReduceOp::average)
    average_over(r.type, static_cast<std::byte*>(r.output), r.count, group_.size);
  own_buffer_ = {};
  done_ = true;
}

}  // namespace dt
