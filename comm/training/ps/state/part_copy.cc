#include "comm/training/ps/state/part_copy.h"

#include "base/format.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

namespace dt {

std::optional<uint32_t> PsServers::head(uint32_t part) const {
  if (!dead.contains(part)) return part;
  if (copies < 2 || dead.contains(next(part))) return std::nullopt;
  return next(part);
}

PartCopy::PartCopy(PsServerState::Options options, Role role)
    : state_(std::move(options)), role_(role) {
  state_.set_silent(role == Role::replica);
}

void PartCopy::start_replica(uint64_t bytes_max) {
  assert(role_ == Role::head && number_ == 0);
  const auto checkpoint = std::make_shared<const Bytes>(state_.save().joined());
  state_.limit_bytes(bytes_max);
  has_replica_ = true;
  outgoing_.push_back(encode_parts(++number_, PsStart{bytes_max, *checkpoint, checkpoint}));
}

/// Returns false when nothing has changed.
bool PartCopy::apply(const PsInput& input) {
  if (const auto* const asked = std::get_if<PsIncoming>(&input)) return state_.handle(*asked);
  if (const auto* const notice = std::get_if<Notice>(&input)) {
    state_.note(*notice);
    return true;
  }
  const auto& file = std::get<PsFileAnswer>(input);
  Result<> result;
  if (file.error) result = tl::unexpected(*file.error);
  if (result && !file.content.empty()) result = state_.load(SavedBytes::in_memory(file.content));
  state_.answer({.worker = file.worker, .request = file.request, .path = {}}, result, file.step);
  return true;
}

void PartCopy::take(const PsInput& input) {
  assert(role_ == Role::head);
  if (apply(input) && has_replica_) outgoing_.push_back(encode_parts(++number_, input));
  hold_deliveries();
}

void PartCopy::load(PsFileAnswer answer, const SavedBytes& saved) {
  if (const Result<> loaded = state_.load(saved); !loaded) answer.error = loaded.error();
  state_.answer({.worker = answer.worker, .request = answer.request, .path = {}},
                answer.error ? tl::unexpected(*answer.error) : Result<>());
  if (has_replica_) {
    if (!answer.error) {
      answer.owner = std::make_shared<const Bytes>(state_.save().joined());
      answer.content = *answer.owner;
    }
    outgoing_.push_back(encode_parts(++number_, answer));
  }
  hold_deliveries();
}

void PartCopy::refuse(uint32_t worker, uint32_t request, std::string why) {
  state_.refuse(worker, request, std::move(why));
  hold_deliveries();
}

void PartCopy::hold_deliveries() {
  for (PsDelivery& delivery : state_.take_deliveries())
    held_.push_back({number_, std::move(delivery)});
}

std::vector<PsDelivery> PartCopy::take_deliveries() {
  std::vector<PsDelivery> ready;
  while (!held_.empty() && (!has_replica_ || held_.front().number <= acknowledged_)) {
    ready.push_back(std::move(held_.front().delivery));
    held_.pop_front();
  }
  return ready;
}

std::optional<MessageParts> PartCopy::take_outgoing() {
  if (outgoing_.empty()) return std::nullopt;
  MessageParts message = std::move(outgoing_.front());
  outgoing_.pop_front();
  return message;
}

Result<> PartCopy::acknowledged(uint64_t number) {
  if (number > number_)
    return fail(Errc::protocol, format("input {} is acknowledged, after {}", number, number_));
  acknowledged_ = std::max(acknowledged_, number);
  return {};
}

void PartCopy::replica_lost() {
  has_replica_ = false;
  outgoing_.clear();
}

Result<> PartCopy::start(const PsStart& start) {
  state_.limit_bytes(start.bytes_max);
  return state_.load(SavedBytes::in_memory(start.checkpoint));
}

Result<> PartCopy::follow(const std::shared_ptr<const Bytes>& message) {
  if (role_ == Role::head)
    return fail(Errc::refused, "the server is dead, and its replica has taken over");
  const NumberedInput next = TRY(decode_ps_input(message));
  if (next.number != number_ + 1)
    return fail(Errc::protocol, format("input {} comes after {}", next.number, number_));
  const auto* const first = std::get_if<PsStart>(&next.input);
  if ((first != nullptr) != (number_ == 0))
    return fail(Errc::protocol, "a replica starts once, by its first input");
  const auto* const asked = std::get_if<PsIncoming>(&next.input);
  if (asked != nullptr && asked->worker >= state_.sessions().size())
    return fail(Errc::protocol, format("a request is of worker {}", asked->worker));
  if (first != nullptr) {
    TRY(start(*first));
  } else {
    apply(next.input);
  }
  number_ = next.number;
  return {};
}

void PartCopy::take_over() {
  role_ = Role::head;
  state_.set_silent(false);
}

}  // namespace dt
