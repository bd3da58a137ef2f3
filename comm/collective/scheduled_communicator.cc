#include "comm/collective/scheduled_communicator.h"

#include "base/format.h"
#include "base/kernels/adasum.h"
#include "base/kernels/copy.h"
#include "base/kernels/reducer.h"
#include "comm/collective/messages.h"
#include "comm/collective/operation.h"
#include "comm/schedule/algorithm.h"
#include "comm/schedule/bruck.h"
#include "comm/schedule/direct.h"
#include "comm/schedule/doubling.h"
#include "comm/schedule/ring.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace dt {

namespace {

constexpr auto collective_data = static_cast<uint8_t>(EngineMessageType::collective_data);
/// Counts travel as they lie in memory; all ranks have the same build of the library.
static_assert(sizeof(size_t) == sizeof(uint64_t));

}  // namespace

ScheduledCommunicator::ScheduledCommunicator(Group group, std::vector<MessageLink*> links,
                                             MaySend may_send)
    : group_(group),
      links_(std::move(links)),
      may_send_(std::move(may_send)),
      cache_(group),
      early_(links_.size()) {
}

void ScheduledCommunicator::start(const OperationRequest& request, uint64_t sequence,
                                  CallLimit /*limit*/, Time /*now*/) {
  begin(request, static_cast<uint32_t>(sequence));
  exchanges_counts_ = has_own_counts(request.kind);
  if (exchanges_counts_) return exchange_counts();
  const bool tokens = request.kind == OperationKind::barrier;
  run(equal_steps(), buffers_of(request), tokens ? 1 : element_bytes(request.type));
}

void ScheduledCommunicator::start_held(const OperationRequest& request, uint32_t stream,
                                       const Steps& steps, size_t work_elements) {
  begin(request, stream);
  exchanges_counts_ = false;
  held_ = true;
  divides_ = false;
  const bool tokens = request.kind == OperationKind::barrier;
  run(steps, buffers_of(request), tokens ? 1 : element_bytes(request.type), work_elements);
}

void ScheduledCommunicator::begin(const OperationRequest& request, uint32_t stream) {
  assert(done_);
  request_ = &request;
  stream_ = stream;
  done_ = false;
  held_ = false;
  divides_ = true;
}

ScheduledCommunicator::Buffers ScheduledCommunicator::buffers_of(
    const OperationRequest& request) const {
  Buffers buffers{.input = static_cast<const std::byte*>(request.input),
                  .output = static_cast<std::byte*>(request.output)};
  // The root of a broadcast or scatter needs no output: its own elements stay where they are.
  if (buffers.output == nullptr && is_rooted(request.kind) && request.peer == group_.rank) {
    const bool scatters = request.kind == OperationKind::scatter;
    const size_t before = scatters ? static_cast<size_t>(group_.rank) * request.count : 0;
    buffers.output = const_cast<std::byte*>(buffers.input) + before * element_bytes(request.type);
  }
  return buffers;
}

/// The steps for calls with equal counts.
const Steps& ScheduledCommunicator::equal_steps() {
  const OperationRequest& request = *request_;
  if (request.reduce == ReduceOp::adasum)
    return own_steps_ = recursive_doubling_of_wholes(group_, request.count);
  if (request.steps) return *request.steps;
  const CollectiveShape shape = shape_of(request);
  if (request.algorithm) return cache_.steps(shape, *request.algorithm);
  const size_t bytes = request.count * shape.element_bytes;
  return cache_.steps(shape, choose(default_rules(request.kind, {.ranks = group_.size}), bytes));
}

void ScheduledCommunicator::run_own(Steps steps, Buffers buffers, size_t element_bytes) {
  own_steps_ = std::move(steps);
  run(own_steps_, buffers, element_bytes);
}

void ScheduledCommunicator::run(const Steps& steps, Buffers buffers, size_t element_bytes,
                                size_t elements_min) {
  steps_ = &steps;
  next_ = 0;
  send_started_ = false;
  received_elements_ = 0;
  buffers_ = buffers;
  element_bytes_ = element_bytes;
  const size_t elements = std::max(work_elements(steps), elements_min);
  buffers_.work = work_.reserve(elements * element_bytes);
  // Tokens have no meaning, but uninitialised memory stays here. They are the last two elements.
  const size_t tokens = std::min(elements, size_t{2}) * element_bytes;
  const bool has_tokens = request_->kind == OperationKind::barrier || is_rooted(request_->kind);
  if (has_tokens && tokens > 0)
    std::memset(buffers_.work + elements * element_bytes - tokens, 0, tokens);
}

void ScheduledCommunicator::exchange_counts() {
  const OperationRequest& r = *request_;
  std::vector<size_t>& counts = r.result->counts;
  counts.resize(static_cast<size_t>(group_.size));
  const bool gathers = r.kind == OperationKind::all_gather_v;
  const auto* own = gathers ? &r.count : r.counts.data();
  run_own(gathers ? bruck_all_gather(group_, 1) : bruck_all_to_all(group_, 1),
          {.input = reinterpret_cast<const std::byte*>(own),
           .output = reinterpret_cast<std::byte*>(counts.data())},
          sizeof(uint64_t));
}

void ScheduledCommunicator::exchange_parts() {
  exchanges_counts_ = false;
  const OperationRequest& r = *request_;
  OperationResult& result = *r.result;
  result.allocate(element_bytes(r.type));
  run_own(r.kind == OperationKind::all_gather_v
              ? ring_all_gather_v(group_, result.counts)
              : pairwise_all_to_all_v(group_, {r.counts, result.counts}),
          {.input = static_cast<const std::byte*>(r.input), .output = result.data.get()},
          element_bytes(r.type));
}

/// Returns the address of an element of the range.
std::byte* ScheduledCommunicator::at(const Range& range, size_t offset) const {
  const size_t bytes = (range.begin + offset) * element_bytes_;
  switch (range.place) {
    case Place::output:
      return buffers_.output + bytes;
    case Place::input:  // schedules never receive into the input
      return const_cast<std::byte*>(buffers_.input) + bytes;
    case Place::work:
      break;
  }
  return buffers_.work + bytes;
}

/// The ranges may overlap or be equal, because users reduce in place.
void ScheduledCommunicator::run_here(const Step& step) const {
  if (step.fold == Fold::inputs) return reduce_here(step);
  const std::byte* from = at(step.send);
  std::byte* to = at(step.receive);
  if (to != from) std::memmove(to, from, step.send.count() * element_bytes_);
}

/// Reduces inputs that lie behind each other. An average is complete then: they are those of all
/// ranks.
void ScheduledCommunicator::reduce_here(const Step& step) const {
  const size_t count = step.receive.count();
  std::vector<const std::byte*> inputs(step.send.count() / count);
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = at(step.send, i * count);
  if (request_->reduce == ReduceOp::adasum)
    return adasum(request_->type, at(step.receive), inputs[0], inputs[1], count);
  Reducer(request_->type, request_->reduce)
      .reduce_many({at(step.receive)}, inputs, count, group_.size);
}

bool ScheduledCommunicator::step(Time /*now*/) {
  bool moved = false;
  while (!done_ && !held_) {
    if (next_ == steps().size()) {
      end_schedule();
      moved = true;
      continue;
    }
    const Step& step = steps()[next_];
    const bool local = step.send_to == group_.rank;
    if (local) {
      run_here(step);
    } else if (!send_started_ && step.send_to >= 0 && (!may_send_ || may_send_(step.send_to))) {
      MessageLink& link = *links_[static_cast<size_t>(step.send_to)];
      link.send_data(collective_data, stream_, {at(step.send), step.send.count() * element_bytes_});
      send_started_ = true;
      moved = true;
    }
    if (!local) moved |= take_early();
    if (!local && (!sent() || !received())) break;
    ++next_;
    send_started_ = false;
    received_elements_ = 0;
    moved = true;
  }
  return moved;
}

bool ScheduledCommunicator::sent() const {
  const int to = steps()[next_].send_to;
  return to < 0 ||
         (send_started_ && !links_[static_cast<size_t>(to)]->sending(collective_data, stream_));
}

bool ScheduledCommunicator::received() const {
  const Step& step = steps()[next_];
  return step.receive_from < 0 || received_elements_ == step.receive.count();
}

std::vector<int> ScheduledCommunicator::senders() const {
  std::vector<bool> sends(links_.size());
  for (const Step& step : steps())
    if (step.receive_from >= 0) sends[static_cast<size_t>(step.receive_from)] = true;
  std::vector<int> ranks;
  for (int rank = 0; rank < group_.size; ++rank)
    if (sends[static_cast<size_t>(rank)] && rank != group_.rank) ranks.push_back(rank);
  return ranks;
}

int ScheduledCommunicator::waits_for() const {
  if (done_ || held_ || next_ == steps().size()) return -1;
  if (steps()[next_].send_to == group_.rank) return -1;
  if (!received()) return steps()[next_].receive_from;
  return sent() ? -1 : steps()[next_].send_to;
}

uint64_t ScheduledCommunicator::progress() const {
  if (done_ || next_ == steps().size()) return next_;
  constexpr int step_bit = 40;  // above the bytes of a step
  const int to = steps()[next_].send_to;
  const MessageLink* link = to < 0 ? nullptr : links_[static_cast<size_t>(to)];
  const size_t unsent = link == nullptr ? 0 : link->unsent_bytes(collective_data, stream_);
  return (uint64_t{next_} << step_bit) + received_elements_ * element_bytes_ - unsent;
}

void ScheduledCommunicator::cancel() {
  if (done_) return;
  for (MessageLink* link : links_) {
    if (link == nullptr) continue;
    link->cancel_send(collective_data, stream_);
    link->cancel_receive(collective_data, stream_);
  }
  // The links hold no pointer into any buffer from here on.
  early_.drop(stream_);
  early_.trim();
  if (has_own_counts(request_->kind)) request_->result->clear();
  work_.release();
  Bytes().swap(scratch_);
  done_ = true;
}

Result<PayloadTarget> ScheduledCommunicator::place(const Message& message, bool hold) {
  if (done_ || next_ == steps().size()) return PayloadTarget{};
  const bool early = held_ || early_.has(message.from, stream_) || received();
  if (early || steps()[next_].receive_from != message.from)
    return hold ? hold_early(message) : PayloadTarget{};
  const Step& step = steps()[next_];
  const size_t elements = message.length / element_bytes_;
  if (elements * element_bytes_ != message.length ||
      elements > step.receive.count() - received_elements_)
    return fail(Errc::protocol, format("data frame of {} bytes does not fit", message.length));
  if (step.fold == Fold::replace)
    return PayloadTarget{PayloadTarget::Action::take,
                         {at(step.receive, received_elements_), message.length}};
  scratch_.resize(message.length);
  return PayloadTarget{PayloadTarget::Action::take, scratch_};
}

Result<> ScheduledCommunicator::arrived(const Message& message) {
  if (early_.complete(message.from)) return {};
  assert(!done_ && next_ < steps().size());
  const Step& step = steps()[next_];
  const size_t elements = message.length / element_bytes_;
  if (step.fold != Fold::replace) fold(step, scratch_.data(), elements);
  received_elements_ += elements;
  return {};
}

Result<PayloadTarget> ScheduledCommunicator::hold_early(const Message& message) {
  if (early_.held_bytes(message.from, stream_) + message.length > early_bytes_max(message.from)) {
    // The size of parts is unknown until the counts are there.
    if (exchanges_counts_) return PayloadTarget{};
    return fail(Errc::protocol, format("data frame of {} bytes does not fit", message.length));
  }
  return PayloadTarget{PayloadTarget::Action::take,
                       early_.hold(message.from, message.stream, message.length)};
}

Result<PayloadTarget> ScheduledCommunicator::place_next(const Message& message) {
  if (early_.held_bytes(message.from, message.stream) + message.length > next_bytes_max)
    return fail(Errc::protocol, format("early data frame of {} bytes", message.length));
  return PayloadTarget{PayloadTarget::Action::take,
                       early_.hold(message.from, message.stream, message.length)};
}

void ScheduledCommunicator::drop_next(uint32_t stream) {
  for (MessageLink* link : links_)
    if (link != nullptr) link->cancel_receive(collective_data, stream);
  early_.drop(stream);
}

void ScheduledCommunicator::close() {
  cancel();
  while (const std::optional<uint32_t> stream = early_.any_stream())
    drop_next(*stream);
}

/// The early frames of a sender are at most what the steps to come receive from it.
size_t ScheduledCommunicator::early_bytes_max(int sender) const {
  if (exchanges_counts_) return 4 * data_frame_bytes;
  size_t elements = 0;
  for (size_t i = next_; i < steps().size(); ++i)
    if (steps()[i].receive_from == sender) elements += steps()[i].receive.count();
  if (steps()[next_].receive_from == sender) elements -= received_elements_;
  return elements * element_bytes_;
}

/// Moves early frames into the current step; true if there were some.
bool ScheduledCommunicator::take_early() {
  const Step& step = steps()[next_];
  if (step.receive_from < 0) return false;
  bool moved = false;
  while (!received()) {
    const std::optional<ByteSpan> frame = early_.next(step.receive_from, stream_);
    if (!frame) break;
    const size_t held = frame->size() / element_bytes_;
    const size_t elements = std::min(held, step.receive.count() - received_elements_);
    if (step.fold != Fold::replace) {
      fold(step, frame->data(), elements);
    } else {
      copy_array(at(step.receive, received_elements_), frame->data(), elements * element_bytes_);
    }
    received_elements_ += elements;
    early_.use(step.receive_from, held == elements ? frame->size() : elements * element_bytes_);
    moved = true;
  }
  return moved;
}

/// Combines received elements with their operand, which may be the range itself.
void ScheduledCommunicator::fold(const Step& step, const std::byte* received, size_t elements) {
  const Reducer reducer(request_->type, request_->reduce);
  std::byte* into = at(step.receive, received_elements_);
  const std::byte* operand = at(step.operand, received_elements_);
  if (step.fold == Fold::operand_first) return reducer.combine({into}, operand, received, elements);
  reducer.combine({into}, received, operand, elements);
}

void ScheduledCommunicator::end_schedule() {
  if (exchanges_counts_) return exchange_parts();
  if (divides_) divide();
  work_.trim();
  done_ = true;
}

/// An average has only been summed so far, except in rank order.
void ScheduledCommunicator::divide() const {
  const OperationRequest& r = *request_;
  if (r.algorithm == Algorithm::rank_order && !r.steps) return;
  const bool has_result = r.kind != OperationKind::reduce || r.peer == group_.rank;
  if (reduces(r.kind) && r.reduce == ReduceOp::average && has_result)
    average_over(r.type, static_cast<std::byte*>(r.output), r.count, group_.size);
}

}  // namespace dt
