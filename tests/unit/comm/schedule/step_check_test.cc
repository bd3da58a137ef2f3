#include "comm/schedule/step_check.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

std::string fault_of(const Step& step, const CollectiveShape& shape) {
  const Result<> checked = check_steps({{.send_to = 1, .send = {0, 1}}, step}, {0, 3}, shape);
  return checked ? "accepted" : checked.error().message;
}

TEST_CASE("the steps of every built-in schedule are accepted, in and out of place") {
  size_t accepted = 0;
  for (auto kind = OperationKind::all_reduce; kind < OperationKind::barrier;
       kind = static_cast<OperationKind>(static_cast<int>(kind) + 1)) {
    for (int index = 0; index < algorithm_count; ++index) {
      const auto algorithm = static_cast<Algorithm>(index);
      if (!supports(algorithm, kind)) continue;
      for (int size = 1; size <= 9; ++size) {
        for (int rank = 0; rank < size; ++rank) {
          for (const size_t count : {0, 1, 5, 16}) {
            for (const bool in_place : {false, true}) {
              const CollectiveShape shape{
                  .kind = kind, .count = count, .root = size / 2, .in_place = in_place};
              CAPTURE(kind_name(kind));
              CAPTURE(algorithm_name(algorithm));
              const Result<> checked =
                  check_steps(*steps_of({rank, size}, shape, algorithm), {rank, size}, shape);
              REQUIRE_MESSAGE(checked, checked.error().message);
              ++accepted;
            }
          }
        }
      }
    }
  }
  CHECK(accepted == size_t{23} * 45 * 4 * 2);
}

const CollectiveShape sum{.kind = OperationKind::all_reduce, .count = 4};
const CollectiveShape gather{.kind = OperationKind::all_gather, .count = 4};
const Range some{0, 2};
struct Case {
  Step step;
  CollectiveShape shape;
  const char* message;
};

TEST_CASE("a step that leaves the buffers or the ranks is named by its number") {
  const CollectiveShape in_place{.kind = OperationKind::all_reduce, .count = 4, .in_place = true};
  const Case cases[] = {
      {{}, sum, "step 2: it neither sends nor receives"},
      {{.send_to = 3, .send = some}, sum, "step 2: there is no such rank"},
      {{.receive_from = 3, .receive = some}, sum, "step 2: there is no such rank"},
      {{.send_to = 1, .send = {2, 2}},
       sum,
       "step 2: the sent range is empty or outside its buffer"},
      {{.send_to = 1, .send = {3, 2}},
       sum,
       "step 2: the sent range is empty or outside its buffer"},
      {{.send_to = 1, .send = {4, 5}},
       sum,
       "step 2: the sent range is empty or outside its buffer"},
      {{.send_to = 1, .send = {11, 12}}, gather, "accepted"},
      {{.send_to = 1, .send = {4, 5, Place::input}},
       gather,
       "step 2: the sent range is empty or outside its buffer"},
      {{.send_to = 1, .send = {38, 39, Place::work}}, sum, "accepted"},
      {{.send_to = 1, .send = {39, 40, Place::work}},
       sum,
       "step 2: the sent range is empty or outside its buffer"},
      {{.receive_from = 1, .receive = {0, 5}},
       sum,
       "step 2: the received range is empty or outside its buffer"},
      {{.receive_from = 1, .receive = {0, 1, Place::input}},
       sum,
       "step 2: it receives into the input"},
      {{.send_to = 1, .send = some, .receive_from = 2, .receive = {1, 3}},
       sum,
       "step 2: it receives into the range that it sends"},
      {{.send_to = 1, .send = some.in(Place::input), .receive_from = 2, .receive = some},
       sum,
       "accepted"},
      {{.send_to = 1, .send = some.in(Place::input), .receive_from = 2, .receive = some},
       in_place,
       "step 2: it receives into the range that it sends"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.message);
    CHECK(fault_of(c.step, c.shape) == c.message);
  }
}

TEST_CASE("copies and reductions need equal sizes, and reductions an operation that reduces") {
  const Case cases[] = {
      {{.send_to = 0, .send = some, .receive_from = 1, .receive = {2, 4}},
       sum,
       "step 2: a copy has this rank on both sides"},
      {{.send_to = 0, .send = some, .receive_from = 0, .receive = {2, 3}},
       sum,
       "step 2: a copy changes its size"},
      {{.send_to = 0,
        .send = some,
        .receive_from = 0,
        .receive = {2, 4},
        .fold = Fold::operand_first},
       sum,
       "step 2: a copy cannot reduce"},
      {{.receive_from = 1, .receive = some, .fold = Fold::operand_first, .operand = some},
       gather,
       "step 2: this operation has no reduction"},
      {{.send_to = 1, .send = some, .fold = Fold::operand_first, .operand = some}, sum, "accepted"},
      {{.receive_from = 1, .receive = some, .fold = Fold::operand_first, .operand = {3, 5}},
       sum,
       "step 2: the operand is empty or outside its buffer"},
      {{.receive_from = 1, .receive = some, .fold = Fold::operand_first, .operand = {3, 4}},
       sum,
       "step 2: the operand has another size than the received range"},
      {{.send_to = 0,
        .send = {0, 6, Place::work},
        .receive_from = 0,
        .receive = some,
        .fold = Fold::inputs},
       sum,
       "accepted"},
      {{.send_to = 0,
        .send = {0, 6, Place::work},
        .receive_from = 0,
        .receive = {0, 4},
        .fold = Fold::inputs},
       sum,
       "step 2: a reduction has inputs of another size than its result"},
      {{.send_to = 0,
        .send = {0, 6, Place::work},
        .receive_from = 0,
        .receive = some,
        .fold = Fold::inputs},
       gather,
       "step 2: this operation has no reduction"},
      {{.receive_from = 1, .receive = some, .fold = Fold::inputs},
       sum,
       "step 2: only a copy has several inputs"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.message);
    CHECK(fault_of(c.step, c.shape) == c.message);
  }
}

}  // namespace
}  // namespace dt
