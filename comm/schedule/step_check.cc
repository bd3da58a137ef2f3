#include "comm/schedule/step_check.h"

#include "base/format.h"

#include <algorithm>
#include <string_view>

namespace dt {

namespace {

/// The elements of the buffers of one rank's call.
struct Room {
  size_t output = 0;
  size_t input = 0;
  size_t work = 0;

  size_t of(Place place) const {
    if (place == Place::output) return output;
    return place == Place::input ? input : work;
  }
};

Room room_of(Group group, const CollectiveShape& shape) {
  const auto ranks = static_cast<size_t>(group.size);
  const size_t all = shape.count * ranks;
  const bool root = !is_rooted(shape.kind) || shape.root == group.rank;
  // No schedule of this folder needs more than three times the data of all ranks.
  Room room{.output = shape.count, .input = shape.count, .work = 3 * all + ranks};
  switch (shape.kind) {
    case OperationKind::all_gather:
      room.output = all;
      break;
    case OperationKind::reduce_scatter:
      room.input = all;
      break;
    case OperationKind::all_to_all:
      room.input = room.output = all;
      break;
    case OperationKind::broadcast:
      if (!root) room.input = 0;
      break;
    case OperationKind::reduce:
      if (!root) room.output = 0;
      break;
    case OperationKind::gather:
      room.output = root ? all : 0;
      break;
    case OperationKind::scatter:
      room.input = root ? all : 0;
      break;
    default:
      break;
  }
  return room;
}

bool overlap(const Range& a, const Range& b) {
  return a.begin < b.end && b.begin < a.end;
}

/// Checks one rank's steps, one by one.
class StepCheck {
 public:
  StepCheck(Group group, const CollectiveShape& shape)
      : group_(group), shape_(shape), room_(room_of(group, shape)) {}

  /// Returns the fault of a step; an empty text when there is none.
  std::string_view fault(const Step& step) const {
    const bool sends = step.send_to >= 0;
    const bool receives = step.receive_from >= 0;
    if (!sends && !receives) return "it neither sends nor receives";
    if (step.send_to >= group_.size || step.receive_from >= group_.size)
      return "there is no such rank";
    if (sends && !fits(step.send)) return "the sent range is empty or outside its buffer";
    if (receives && !fits(step.receive)) return "the received range is empty or outside its buffer";
    if (receives && step.receive.place == Place::input) return "it receives into the input";
    if (sends && receives && joined(step)) return "it receives into the range that it sends";
    return local(step) ? copy_fault(step) : fold_fault(step);
  }

 private:
  bool fits(const Range& range) const {
    return range.begin < range.end && range.end <= room_.of(range.place);
  }
  bool local(const Step& step) const {
    return step.send_to == group_.rank || step.receive_from == group_.rank;
  }
  /// True when a received element may be sent again. In place, input and output are one buffer.
  bool joined(const Step& step) const {
    if (local(step)) return false;
    const auto place = [&](const Range& range) {
      return shape_.in_place && range.place == Place::input ? Place::output : range.place;
    };
    return place(step.send) == place(step.receive) && overlap(step.send, step.receive);
  }
  std::string_view copy_fault(const Step& step) const {
    if (step.send_to != step.receive_from) return "a copy has this rank on both sides";
    if (step.fold == Fold::inputs) return reduction_fault(step);
    if (step.send.count() != step.receive.count()) return "a copy changes its size";
    return step.fold == Fold::replace ? "" : "a copy cannot reduce";
  }
  std::string_view reduction_fault(const Step& step) const {
    if (!reduces(shape_.kind)) return "this operation has no reduction";
    return step.send.count() % step.receive.count() == 0
               ? ""
               : "a reduction has inputs of another size than its result";
  }
  std::string_view fold_fault(const Step& step) const {
    if (step.fold == Fold::inputs) return "only a copy has several inputs";
    if (step.receive_from < 0 || step.fold == Fold::replace) return "";
    if (!reduces(shape_.kind)) return "this operation has no reduction";
    if (!fits(step.operand)) return "the operand is empty or outside its buffer";
    return step.operand.count() == step.receive.count() ? ""
                                                        : "the operand has another size than the "
                                                          "received range";
  }

  Group group_;
  const CollectiveShape& shape_;
  Room room_;
};

}  // namespace

Result<> check_steps(const Steps& steps, Group group, const CollectiveShape& shape) {
  const StepCheck check(group, shape);
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string_view fault = check.fault(steps[i]);
    if (!fault.empty()) return fail(Errc::input, format("step {}: {}", i + 1, fault));
  }
  return {};
}

}  // namespace dt
