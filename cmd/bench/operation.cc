#include "cmd/bench/operation.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace dt {
namespace {

double all_reduce_factor(double ranks) {
  return 2 * (ranks - 1) / ranks;
}
double others_factor(double ranks) {
  return (ranks - 1) / ranks;
}
double equal_factor(double) {
  return 1;
}

using Whole = OperationRow::Whole;

constexpr std::array rows = {
    OperationRow{.operation = BenchOperation::all_reduce,
                 .name = "all_reduce",
                 .peers_name = "allreduce",
                 .reduces = true,
                 .in_place = true,
                 .bus_factor = all_reduce_factor},
    OperationRow{.operation = BenchOperation::all_gather,
                 .name = "all_gather",
                 .peers_name = "allgather",
                 .in_place = true,
                 .whole = Whole::output,
                 .bus_factor = others_factor},
    OperationRow{.operation = BenchOperation::broadcast,
                 .name = "broadcast",
                 .peers_name = "bcast",
                 .rooted = true,
                 .in_place = true,
                 .bus_factor = equal_factor},
    OperationRow{.operation = BenchOperation::reduce_scatter,
                 .name = "reduce_scatter",
                 .peers_name = "reduce_scatter",
                 .reduces = true,
                 .whole = Whole::input,
                 .bus_factor = others_factor},
    OperationRow{.operation = BenchOperation::all_to_all,
                 .name = "all_to_all",
                 .peers_name = "alltoall",
                 .whole = Whole::both,
                 .bus_factor = others_factor},
    OperationRow{.operation = BenchOperation::reduce,
                 .name = "reduce",
                 .peers_name = "reduce",
                 .reduces = true,
                 .rooted = true,
                 .in_place = true,
                 .bus_factor = equal_factor},
    OperationRow{.operation = BenchOperation::gather,
                 .name = "gather",
                 .peers_name = "gather",
                 .rooted = true,
                 .whole = Whole::output,
                 .bus_factor = others_factor},
    OperationRow{.operation = BenchOperation::scatter,
                 .name = "scatter",
                 .peers_name = "scatter",
                 .rooted = true,
                 .whole = Whole::input,
                 .bus_factor = others_factor},
    OperationRow{.operation = BenchOperation::latency,
                 .name = "latency",
                 .peers_name = "latency",
                 .bus_factor = equal_factor},
    OperationRow{.operation = BenchOperation::fusion,
                 .name = "fusion",
                 .peers_name = "fusion",
                 .reduces = true,
                 .in_place = true,
                 .bus_factor = all_reduce_factor},
};

}  // namespace

std::span<const OperationRow> bench_operations() {
  return rows;
}

const OperationRow& row_of(BenchOperation operation) {
  const auto* const found = std::ranges::find(rows, operation, &OperationRow::operation);
  assert(found != rows.end());
  return *found;
}

std::optional<BenchOperation> parse_bench_operation(std::string_view name) {
  const auto* const found = std::ranges::find(rows, name, &OperationRow::name);
  if (found == rows.end()) return std::nullopt;
  return found->operation;
}

std::vector<std::string> bench_operation_names() {
  std::vector<std::string> names;
  for (const OperationRow& row : rows)
    names.emplace_back(row.name);
  return names;
}

CallShape shape_of(const OperationRow& row, size_t bytes, size_t element_bytes, int ranks) {
  const auto parts = row.whole == Whole::neither ? size_t{1} : static_cast<size_t>(ranks);
  CallShape shape;
  shape.count = bytes / element_bytes / parts;
  shape.input = shape.count * (row.whole == Whole::output ? 1 : parts);
  shape.output = shape.count * (row.whole == Whole::input ? 1 : parts);
  shape.bytes = shape.count * parts * element_bytes;
  return shape;
}

}  // namespace dt
