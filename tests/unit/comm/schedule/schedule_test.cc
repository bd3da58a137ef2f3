#include "comm/schedule/schedule.h"

#include "comm/schedule/ring.h"
#include "tests/unit/comm/schedule/schedule_game.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("part_range cuts without gaps into parts that differ by one element at most") {
  for (int size = 1; size <= 9; ++size) {
    for (const size_t count : {0, 1, 2, 3, 7, 8, 9, 10, 64, 100}) {
      CAPTURE(size);
      CAPTURE(count);
      size_t end = 0;
      for (int part = 0; part < size; ++part) {
        const Range range = part_range(count, part, size);
        CHECK(range.begin == end);
        CHECK(range.count() - count / static_cast<size_t>(size) <= 1);
        end = range.end;
      }
      CHECK(end == count);
    }
  }
}

TEST_CASE("empty sides of a step are omitted, and steps without sides") {
  Steps steps;
  append_copy(steps, {2, 4}, {5, 5}, {0, 0});
  append_transfer(steps, {.send_to = 1, .send = {3, 3}, .receive_from = 3, .receive = {7, 7}});
  CHECK(steps.empty());
  append_transfer(steps, {.send_to = 1, .send = {3, 3}, .receive_from = 3, .receive = {7, 9}});
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].send_to == -1);
  CHECK(steps[0].receive_from == 3);
  append_copy(steps, {2, 4}, {5, 6}, {0, 1});
  CHECK(steps[1].send_to == 2);
}

TEST_CASE("work_elements is the end of the last range in the work memory") {
  CHECK(work_elements({}) == 0);
  CHECK(work_elements({{.send_to = 1, .send = {0, 90}},
                       {.send_to = 1, .send = {4, 7, Place::work}},
                       {.receive_from = 1, .receive = {2, 5, Place::work}}}) == 7);
}

TEST_CASE("indices beyond 2^32 elements are exact in every schedule") {
  constexpr size_t count = (size_t{1} << 33) + 5;
  constexpr int size = 6;
  constexpr auto ranks = static_cast<size_t>(size);
  for (auto kind = OperationKind::all_reduce; kind < OperationKind::barrier;
       kind = static_cast<OperationKind>(static_cast<int>(kind) + 1)) {
    for (int algorithm = 0; algorithm < algorithm_count; ++algorithm) {
      std::array<size_t, ranks> received = {};
      std::array<size_t, ranks> sent = {};
      for (int rank = 0; rank < size; ++rank) {
        const auto steps = steps_of({rank, size}, {.kind = kind, .count = count},
                                    static_cast<Algorithm>(algorithm));
        if (!steps) continue;
        CAPTURE(algorithm_name(static_cast<Algorithm>(algorithm)));
        CHECK(work_elements(*steps) <= 3 * ranks * count);
        for (const Step& step : *steps) {
          REQUIRE(std::max(step.send.end, step.receive.end) <= 3 * ranks * count);
          if (step.fold == Fold::inputs) continue;  // several inputs become one
          if (step.send_to >= 0) sent[static_cast<size_t>(step.send_to)] += step.send.count();
          if (step.receive_from >= 0) received[static_cast<size_t>(rank)] += step.receive.count();
        }
      }
      CHECK(sent == received);
    }
  }
  std::array<size_t, ranks> counts = {};
  counts.fill(count);
  const Steps steps = ring_all_gather_v({0, size}, counts);
  CHECK(steps.back().receive.end == 2 * count);
  CHECK(part_range(count, 5, size).end == count);
}

}  // namespace
}  // namespace dt
