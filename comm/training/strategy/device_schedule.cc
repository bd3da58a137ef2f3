#include "comm/training/strategy/device_schedule.h"

#include "base/format.h"

#include <algorithm>
#include <utility>

namespace dt {
namespace {

bool is_done(const Step& step, bool sent, bool received) {
  return (sent || step.send_to < 0) && (received || step.receive_from < 0);
}

}  // namespace

DeviceSchedule::DeviceSchedule(ReplicaDevices& devices, const CrossDeviceTerms& terms,
                               const ReplicatedTensor& tensor)
    : devices_(devices),
      terms_(terms),
      tensor_(tensor),
      average_(terms.op == ReduceOp::average),
      progress_(devices.count()) {
  if (average_) terms_.op = ReduceOp::sum;
}

DeviceSchedule::~DeviceSchedule() {
  const bool works =
      std::ranges::any_of(work_, [](const DeviceBuffer& buffer) { return buffer.at() != nullptr; });
  if (works) devices_.group().drain();
}

Result<> DeviceSchedule::run(const std::string& algorithm, const std::vector<Steps>& steps) {
  TRY(allocate_work(steps));
  bool moved = true;
  while (std::exchange(moved, false)) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const bool advanced = TRY(advance(i, steps));
      moved = moved || advanced;
    }
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (progress_[i].step == steps[i].size()) continue;
    // The caller may free the tensor.
    devices_.group().drain();
    return fail(Errc::input, format("the registered algorithm {}: step {} of replica {} has no "
                                    "counterpart",
                                    algorithm, progress_[i].step + 1, i));
  }
  return average_ ? divide() : Result<>();
}

/// Allocates the memory of the library that the steps use.
Result<> DeviceSchedule::allocate_work(const std::vector<Steps>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    size_t end = 0;
    for (const Step& step : steps[i])
      for (const Range& range : {step.send, step.receive, step.operand})
        if (range.place == Place::work) end = std::max(end, range.end);
    DeviceBuffer buffer;
    if (end > 0) buffer = TRY(devices_.allocate(i, end * element_bytes(terms_.type)));
    work_.push_back(std::move(buffer));
  }
  return {};
}

/// Receives what the replica's step awaits, if its sender is there. Returns true if anything was
/// done.
Result<bool> DeviceSchedule::advance(size_t replica, const std::vector<Steps>& steps) {
  Progress& own = progress_[replica];
  if (own.step == steps[replica].size()) return false;
  const Step& step = steps[replica][own.step];
  bool moved = false;
  if (step.receive_from >= 0 && !own.received) {
    const auto from = static_cast<size_t>(step.receive_from);
    Progress& sender = progress_[from];
    if (sender.step < steps[from].size() && !sender.sent) {
      const Step& other = steps[from][sender.step];
      const bool fits =
          other.send_to == static_cast<int>(replica) && other.send.count() == step.receive.count();
      if (fits) TRY(move({from, other.send, replica, &step}));
      sender.sent = own.received = moved = fits;
    }
  }
  if (!is_done(step, own.sent, own.received)) return moved;
  own = {.step = own.step + 1};
  return true;
}

/// The stream of the receiver does the work.
Result<> DeviceSchedule::move(const Transfer& transfer) {
  DeviceGroup& group = devices_.group();
  TRY(group.order({.before = transfer.from, .after = transfer.to}));
  const bool direct = group.device(transfer.to).can_access(group.device(transfer.from)) ||
                      transfer.from == transfer.to;
  const size_t count = transfer.sent.count();
  const size_t most =
      direct ? count : std::max<size_t>(1, group.slot_bytes() / element_bytes(terms_.type));
  for (size_t begin = 0; begin < count; begin += most)
    TRY(move_part(transfer, begin, std::min(most, count - begin)));
  // Later work of the sender may overwrite what is read here.
  return group.order({.before = transfer.to, .after = transfer.from});
}

Result<> DeviceSchedule::move_part(const Transfer& transfer, size_t begin, size_t count) {
  DeviceGroup& group = devices_.group();
  DeviceStream& stream = devices_.stream(transfer.to);
  const Step& step = *transfer.step;
  const size_t bytes = count * element_bytes(terms_.type);
  const std::byte* const sent = at(transfer.from, transfer.sent, begin);
  std::byte* const into = at(transfer.to, step.receive, begin);
  if (step.fold == Fold::replace) return stream.copy({into, sent, bytes});
  const std::byte* const received = TRY(
      group.readable({.reader = transfer.to, .owner = transfer.from, .at = sent, .bytes = bytes},
                     group.copy_slot(transfer.to, transfer.from)));
  const std::byte* const operand = at(transfer.to, step.operand, begin);
  ArrayReduction reduction = {
      .type = terms_.type, .op = terms_.op, .count = count, .sources = {operand, received}};
  if (step.fold == Fold::received_first) std::swap(reduction.sources[0], reduction.sources[1]);
  reduction.into = into;
  return stream.reduce(reduction);
}

Result<> DeviceSchedule::divide() {
  for (size_t i = 0; i < devices_.count(); ++i) {
    TRY(devices_.stream(i).reduce(division_in_place(terms_.type, tensor_.outputs[i], tensor_.count,
                                                    static_cast<int>(devices_.count()))));
  }
  return {};
}

/// Inputs are the outputs, as the algorithm has been called for one buffer.
std::byte* DeviceSchedule::at(size_t replica, const Range& range, size_t element) const {
  std::byte* const buffer =
      range.place == Place::work ? work_[replica].at() : tensor_.outputs[replica];
  return buffer + (range.begin + element) * element_bytes(terms_.type);
}

}  // namespace dt
