#include "comm/named/late_steps.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace dt {

namespace {

/// The call without what a decision does not have.
Descriptor without_name(Descriptor call) {
  call.name.clear();
  call.terms.has_shape = false;
  call.terms.shape.clear();
  return call;
}

/// Returns how this rank's late call differs from that of the others; none if it does not.
std::optional<Mismatch> difference(const LateCall& late, const GroupPeers& peers) {
  const int self = peers.job_rank(peers.rank());
  const int other = late.participants.empty() ? -1 : peers.job_rank(late.participants.front());
  const std::array calls = {late.call, without_name(Descriptor::of(late.user->request))};
  const std::array ranks = {other, self};
  std::optional<Mismatch> found = compare(calls, ranks, 0);
  if (found) found->blamed_rank = self;
  return found;
}

}  // namespace

std::optional<LateCall> LateSteps::end(const Operation& member) {
  const auto found = std::ranges::find_if(
      running_, [&](const LateCall& late) { return late.stand_in.get() == &member; });
  if (found == running_.end()) return std::nullopt;
  LateCall late = std::move(*found);
  running_.erase(found);
  const Result<>& outcome = *member.outcome;
  if (!outcome)
    late.failure =
        OperationFailure{outcome.error().code, member.blamed_rank, outcome.error().message};
  if (late.user) return late;
  keep(std::move(late));
  return std::nullopt;
}

LateSteps::Claim LateSteps::claim(const std::shared_ptr<Operation>& call, const GroupPeers& peers) {
  const uint64_t name = hash_of_name(call->request.name);
  if (kept_.contains(name)) {
    LateCall late = take(name);
    late.user = call;
    deliver(std::move(late), peers);
    return Claim::delivered;
  }
  const auto found = std::ranges::find_if(
      running_, [&](const LateCall& late) { return late.name == name && !late.user; });
  if (found == running_.end()) return Claim::none;
  found->user = call;
  return Claim::running;
}

void LateSteps::fail_running(const OperationFailure& why) {
  for (const LateCall& late : running_)
    if (late.user && !late.user->outcome) dt::end(*late.user, why);
  running_.clear();
}

LateCall LateSteps::take(uint64_t name) {
  const auto found = kept_.find(name);
  LateCall late = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) kept_.erase(found);
  return late;
}

void LateSteps::deliver(LateCall late, const GroupPeers& peers) {
  Operation& user = *late.user;
  if (late.failure) return end_labelled(user, *late.failure);
  if (const std::optional<Mismatch> differs = difference(late, peers))
    return end_labelled(user, {Errc::mismatch, differs->blamed_rank, differs->text});
  const OperationRequest& request = user.request;
  if (request.terms->quorum.carries_late) carry(request);
  // The size is zero for tensors without elements, whose pointers may be null.
  if (const size_t bytes = bytes_of(request); bytes > 0)
    std::memcpy(request.output, late.stand_in->request.output, bytes);
  note_participants(user, late.participants);
  note_end(user, true);
  succeed(user);
}

void LateSteps::carry(const OperationRequest& request) {
  const size_t bytes = bytes_of(request);
  if (bytes == 0) return;
  const auto* input = static_cast<const std::byte*>(request.input);
  Carried& carried = carried_[hash_of_name(request.name)];
  if (carried.memory && carried.fits(request))
    return carried.reduction.apply(carried.memory.get(), input, request.count);
  carried = {.reduction = {request.type, request.reduce},
             .count = request.count,
             .memory = std::make_shared_for_overwrite<std::byte[]>(bytes)};
  std::memcpy(carried.memory.get(), input, bytes);
}

std::shared_ptr<std::byte[]> LateSteps::add_carried(OperationRequest& request) {
  const auto found = carried_.find(hash_of_name(request.name));
  if (found == carried_.end()) return nullptr;
  const Carried carried = std::move(found->second);
  carried_.erase(found);
  // The program has changed the tensor of that name.
  if (!carried.fits(request)) return nullptr;
  const auto* input = static_cast<const std::byte*>(request.input);
  carried.reduction.apply(carried.memory.get(), input, request.count);
  request.input = carried.memory.get();
  return carried.memory;
}

void LateSteps::note_end(const Operation& call, bool late) {
  if (!call.list || call.list->parts_left > 1) return;
  ++counts_.steps;
  if (late) ++counts_.late;
  if (late && call.request.terms->quorum.carries_late) ++counts_.carried;
}

size_t LateSteps::entries() const {
  size_t entries = carried_.size();
  for (const auto& [name, calls] : kept_)
    entries += calls.size();
  return entries;
}

void note_participants(Operation& part, const std::vector<int>& participants) {
  if (!part.list || !part.list->request.result || part.list->request.result->data) return;
  OperationResult& result = *part.list->request.result;
  result.counts.assign(1, participants.size());
  result.allocate(sizeof(int32_t));
  static_assert(sizeof(int) == sizeof(int32_t));
  if (!participants.empty())
    std::memcpy(result.data.get(), participants.data(), participants.size() * sizeof(int32_t));
}

}  // namespace dt
