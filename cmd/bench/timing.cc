#include "cmd/bench/timing.h"

#include <algorithm>
#include <cassert>

namespace dt {

Timing timing_of(std::vector<double> times_us) {
  assert(!times_us.empty());
  std::ranges::sort(times_us);
  const size_t count = times_us.size();
  return {.iterations = static_cast<int>(count),
          .min_us = times_us.front(),
          .p50_us = times_us[count / 2],
          .p99_us = times_us[count * 99 / 100]};
}

Bandwidth bandwidth_of(const OperationRow& row, size_t bytes, double us, int ranks) {
  if (us <= 0) return {};
  const double algorithm = static_cast<double>(bytes) / us / 1e3;
  return {.algorithm = algorithm, .bus = algorithm * row.bus_factor(ranks)};
}

int calls_within(double budget_us, double call_us, int calls_max) {
  constexpr double calls_min = 5;
  const double calls = call_us > 0 ? budget_us / call_us : calls_max;
  return static_cast<int>(std::min<double>(calls_max, std::max(calls, calls_min)));
}

double average_bus(const OperationRow& row, const std::vector<SizeResult>& results, int ranks) {
  double sum = 0;
  int count = 0;
  for (const SizeResult& result : results) {
    for (const auto* timing : {&result.out_of_place, &result.in_place}) {
      if (!*timing) continue;
      sum += bandwidth_of(row, result.shape.bytes, (*timing)->mean_us, ranks).bus;
      ++count;
    }
  }
  return count == 0 ? 0 : sum / count;
}

uint64_t wrong_in(const std::vector<SizeResult>& results) {
  uint64_t wrong = 0;
  for (const SizeResult& result : results) {
    for (const auto* timing : {&result.out_of_place, &result.in_place})
      wrong += *timing ? (*timing)->wrong : 0;
  }
  return wrong;
}

}  // namespace dt
